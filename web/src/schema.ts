// From a JSON schema to the fields of a form, and from what was typed back to arguments.
import type { Schema } from './api/shapes';

export type Field =
  | { kind: 'text' | 'long'; name: string; label: Label }
  | { kind: 'number'; name: string; label: Label; whole: boolean; minimum?: number; maximum?: number }
  | { kind: 'choice'; name: string; label: Label; options: string[]; values: unknown[] }
  | { kind: 'switch'; name: string; label: Label }
  | { kind: 'json'; name: string; label: Label };

export interface Label {
  title: string;
  about: string;
  required: boolean;
}

/** What a form holds: text of every field, and switches that were turned. Absent: not filled in. */
export type Filled = Record<string, string | boolean | undefined>;

/** Text that may need more than one line, by what it is called. */
const LONG = /content|text|body|message|prompt|code|source|description|query|markdown|html|json/i;

export function fieldsOf(schema: Schema): Field[] {
  const required = new Set(schema.required ?? []);
  const entries = Object.entries(schema.properties ?? {});
  // What must be filled in comes first; the order of the author stays otherwise.
  entries.sort(([one], [other]) => Number(required.has(other)) - Number(required.has(one)));
  return entries.map(([name, property]) => fieldOf(name, property ?? {}, required.has(name)));
}

function fieldOf(name: string, property: Schema, required: boolean): Field {
  const label = { title: property.title || name, about: property.description ?? '', required };
  const type = Array.isArray(property.type) ? property.type.find((one) => one !== 'null') : property.type;
  if (property.enum?.length) {
    return { kind: 'choice', name, label, options: property.enum.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))), values: property.enum };
  }
  switch (type) {
    case 'boolean':
      return { kind: 'switch', name, label };
    case 'number':
    case 'integer': {
      const { minimum, maximum } = property;
      return { kind: 'number', name, label, whole: type === 'integer', ...(minimum !== undefined ? { minimum } : {}), ...(maximum !== undefined ? { maximum } : {}) };
    }
    case 'object':
    case 'array':
      return { kind: 'json', name, label };
    default:
      return { kind: LONG.test(name) ? 'long' : 'text', name, label };
  }
}

/** What a new form begins with. */
export function beginning(schema: Schema): Filled {
  const filled: Filled = {};
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const value = property?.default;
    if (typeof value === 'boolean') filled[name] = value;
    else if (value !== undefined && value !== null) filled[name] = typeof value === 'string' ? value : JSON.stringify(value);
  }
  return filled;
}

/** The arguments that a form says, or what is wrong with it, by field. */
export function argumentsOf(fields: Field[], filled: Filled): { arguments: Record<string, unknown>; wrong: Record<string, string> } {
  const found: Record<string, unknown> = {};
  const wrong: Record<string, string> = {};
  for (const field of fields) {
    const value = filled[field.name];
    if (field.kind === 'switch') {
      if (typeof value === 'boolean') found[field.name] = value;
      else if (field.label.required) found[field.name] = false;
      continue;
    }
    const text = typeof value === 'string' ? value : '';
    if (text === '') {
      if (field.label.required) wrong[field.name] = 'This is needed.';
      continue;
    }
    if (field.kind === 'number') {
      const number = Number(text);
      if (text.trim() === '' || Number.isNaN(number)) wrong[field.name] = 'This is not a number.';
      else if (field.whole && !Number.isInteger(number)) wrong[field.name] = 'This is not a whole number.';
      else found[field.name] = number;
    } else if (field.kind === 'json') {
      try {
        found[field.name] = JSON.parse(text) as unknown;
      } catch {
        wrong[field.name] = 'This is not JSON.';
      }
    } else if (field.kind === 'choice') {
      const place = field.options.indexOf(text);
      found[field.name] = place >= 0 ? field.values[place] : text;
    } else {
      found[field.name] = text;
    }
  }
  return { arguments: found, wrong };
}
