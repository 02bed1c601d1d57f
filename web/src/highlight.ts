// Colours for source: words, text, numbers and notes of the languages that agents are written in. Knows no grammar.

export interface Piece {
  kind: '' | 'word' | 'text' | 'number' | 'note';
  text: string;
}

/** Longer sources are shown in one colour. */
const CHARACTERS_MAX = 200_000;

const PYTHON_WORDS =
  'False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield self';
const SCRIPT_WORDS =
  'abstract as async await break case catch class const continue default delete do else enum export extends false finally for from function if implements import in instanceof interface let new null of private public readonly return static super switch this throw true try type typeof undefined var void while yield';
const SHELL_WORDS = 'case do done elif else esac exit export fi for function if in local return set then until while';

const PYTHON = pattern(String.raw`#[^\n]*`, String.raw`[rbfuRBFU]{0,2}(?:"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)`, PYTHON_WORDS);
const SCRIPT = pattern(
  String.raw`\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)`,
  String.raw`"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|${'`'}(?:\\.|[^${'`'}\\])*${'`'}?`,
  SCRIPT_WORDS,
);
const SHELL = pattern(String.raw`#[^\n]*`, String.raw`"(?:\\.|[^"\\])*"?|'[^']*'?`, SHELL_WORDS);

const LANGUAGES: Record<string, RegExp> = {
  python: PYTHON,
  py: PYTHON,
  toml: PYTHON,
  yaml: PYTHON,
  yml: PYTHON,
  typescript: SCRIPT,
  ts: SCRIPT,
  javascript: SCRIPT,
  js: SCRIPT,
  mjs: SCRIPT,
  json: SCRIPT,
  rust: SCRIPT,
  rs: SCRIPT,
  sh: SHELL,
  bash: SHELL,
  console: SHELL,
};

export function highlight(source: string, language: string): Piece[] {
  const known = LANGUAGES[language.toLowerCase()];
  if (!known || source.length > CHARACTERS_MAX) return [{ kind: '', text: source }];
  const pieces: Piece[] = [];
  let place = 0;
  for (const found of source.matchAll(known)) {
    if (found.index > place) pieces.push({ kind: '', text: source.slice(place, found.index) });
    const groups = found.groups ?? {};
    const kind = groups['note'] ? 'note' : groups['text'] ? 'text' : groups['word'] ? 'word' : 'number';
    pieces.push({ kind, text: found[0] });
    place = found.index + found[0].length;
  }
  if (place < source.length) pieces.push({ kind: '', text: source.slice(place) });
  return pieces;
}

/** The language of a file, by the end of its name. */
export function languageOf(path: string): string {
  return /\.([a-z0-9]+)$/i.exec(path)?.[1] ?? '';
}

function pattern(note: string, text: string, words: string): RegExp {
  const word = words.split(' ').join('|');
  return new RegExp(`(?<note>${note})|(?<text>${text})|\\b(?<word>${word})\\b|\\b(?<number>\\d[\\d_]*(?:\\.\\d+)?(?:e[+-]?\\d+)?)\\b`, 'g');
}
