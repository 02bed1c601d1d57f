// Greets somebody, in keeping with the time of day that the host puts into the context.

const GREETINGS = {
  early_morning: 'Good morning',
  morning: 'Good morning',
  afternoon: 'Good afternoon',
  evening: 'Good evening',
  night: 'Good night',
};

export function createAgent(BasicAgent) {
  return class GreetingAgent extends BasicAgent {
    constructor() {
      super('Greeting', {
        name: 'Greeting',
        description: 'Greets a person by name, in keeping with the time of day.',
        parameters: {
          type: 'object',
          properties: { name: { type: 'string', description: 'Whom to greet' } },
          required: [],
        },
      });
    }

    perform({ name = 'world' }) {
      const greeting = GREETINGS[this.getSignal('temporal.time_of_day')] ?? 'Hello';
      return `${greeting}, ${name}!`;
    }
  };
}
