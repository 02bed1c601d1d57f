// A question that must be answered before something is done.

export interface Question {
  title: string;
  text?: string;
  /** What the button that does it says. */
  action: string;
  isDangerous?: boolean;
  /** Asks for a line of text, which begins as this. */
  field?: { label: string; value: string };
}

class Questions {
  open = $state<Question | undefined>(undefined);
  private answer: ((answer: string | undefined) => void) | undefined;

  /** True when the person says yes. */
  async confirm(question: Question): Promise<boolean> {
    return (await this.ask(question)) !== undefined;
  }

  /** The line that was written; nothing when the person changed their mind. */
  ask(question: Question): Promise<string | undefined> {
    this.reply(undefined);
    this.open = question;
    return new Promise((answer) => (this.answer = answer));
  }

  reply(answer: string | undefined): void {
    this.open = undefined;
    this.answer?.(answer);
    this.answer = undefined;
  }
}

export const questions = new Questions();
