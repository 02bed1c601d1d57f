// Numbers and times in words.

export function bytes(count: number): string {
  if (count < 1000) return `${count} B`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  let value = count;
  let unit = -1;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

export function duration(microseconds: number): string {
  if (microseconds < 1000) return `${Math.round(microseconds)} µs`;
  const milliseconds = microseconds / 1000;
  if (milliseconds < 1000) return `${milliseconds < 10 ? milliseconds.toFixed(1) : Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  return seconds < 60 ? `${seconds.toFixed(1)} s` : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

export function ago(time: string, now = Date.now()): string {
  const seconds = Math.round((now - Date.parse(time)) / 1000);
  if (Number.isNaN(seconds)) return '';
  if (seconds < 45) return 'just now';
  const steps: [number, string][] = [
    [60, 'minute'],
    [3600, 'hour'],
    [86_400, 'day'],
    [604_800, 'week'],
  ];
  let [size, word] = steps[0]!;
  for (const [step, name] of steps) if (seconds >= step * 0.9) [size, word] = [step, name];
  if (seconds > 5 * 604_800) return new Date(time).toLocaleDateString(undefined, { dateStyle: 'medium' });
  const count = Math.max(1, Math.round(seconds / size));
  return `${count} ${word}${count === 1 ? '' : 's'} ago`;
}

export function moment(time: string): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? time : date.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString()} ${number === 1 ? one : many}`;
}

/** What a failure says, with the line it is about. */
export function told(failure: { message: string; line?: number }): string {
  return failure.line ? `${failure.message} (line ${failure.line})` : failure.message;
}

/** A value for a person: text as it is, everything else as JSON. */
export function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

/** Text that is JSON with line breaks, where it is JSON; else as it is. */
export function prettified(text: string): { text: string; isJson: boolean } {
  const trimmed = text.trim();
  if (!/^[[{]/.test(trimmed) || trimmed.length > 500_000) return { text, isJson: false };
  try {
    return { text: JSON.stringify(JSON.parse(trimmed), null, 2), isJson: true };
  } catch {
    return { text, isJson: false };
  }
}
