// Short words about what just happened, shown for a moment and read aloud.
import { asFailed } from '../api/client';

export interface Notice {
  id: number;
  kind: 'done' | 'failed';
  text: string;
  next?: string;
  undo?: () => void;
}

const SHOWN_MS = 6000;
const SHOWN_MAX = 4;

class Notices {
  all = $state<Notice[]>([]);
  private last = 0;

  done(text: string, undo?: () => void): void {
    this.add({ kind: 'done', text, ...(undo ? { undo } : {}) });
  }

  failed(error: unknown): void {
    const failed = asFailed(error);
    this.add({ kind: 'failed', text: failed.message, next: failed.next });
  }

  dismiss(id: number): void {
    this.all = this.all.filter((notice) => notice.id !== id);
  }

  private add(notice: Omit<Notice, 'id'>): void {
    const id = ++this.last;
    this.all = [...this.all.slice(1 - SHOWN_MAX), { ...notice, id }];
    setTimeout(() => this.dismiss(id), notice.kind === 'failed' ? SHOWN_MS * 2 : SHOWN_MS);
  }
}

export const notices = new Notices();
