// Speaking and listening, where the browser can. Nothing is sent anywhere by the page itself.

interface Recognition {
  lang: string;
  interimResults: boolean;
  start(): void;
  stop(): void;
  onresult: ((event: { results: ArrayLike<ArrayLike<{ transcript: string }>> }) => void) | null;
  onend: (() => void) | null;
}

type RecognitionClass = new () => Recognition;

/** Longer answers are not read to the end. */
const SPOKEN_CHARACTERS_MAX = 4000;

class Voice {
  listening = $state(false);
  speaking = $state(false);
  readonly canListen = recognition() !== undefined;
  readonly canSpeak = 'speechSynthesis' in window;
  private current: Recognition | undefined;

  listen(heard: (text: string) => void): void {
    const Class = recognition();
    if (!Class) return;
    if (this.current) {
      this.current.stop();
      return;
    }
    const ear = new Class();
    this.current = ear;
    ear.lang = navigator.language;
    ear.interimResults = true;
    ear.onresult = (event) => heard(Array.from(event.results, (result) => result[0]?.transcript ?? '').join(' '));
    ear.onend = () => {
      this.listening = false;
      this.current = undefined;
    };
    ear.start();
    this.listening = true;
  }

  speak(text: string): void {
    if (!this.canSpeak) return;
    if (this.speaking) {
      speechSynthesis.cancel();
      return;
    }
    const plain = text.replace(/```[\s\S]*?```/g, ' ').replace(/[*_`#>|]/g, '');
    const speech = new SpeechSynthesisUtterance(plain.slice(0, SPOKEN_CHARACTERS_MAX));
    speech.lang = navigator.language;
    speech.onend = speech.onerror = () => (this.speaking = false);
    this.speaking = true;
    speechSynthesis.speak(speech);
  }
}

function recognition(): RecognitionClass | undefined {
  const known = window as unknown as { SpeechRecognition?: RecognitionClass; webkitSpeechRecognition?: RecognitionClass };
  return known.SpeechRecognition ?? known.webkitSpeechRecognition;
}

export const voice = new Voice();
