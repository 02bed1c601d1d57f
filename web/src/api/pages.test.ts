// Ids of pages, made of their names.
import { expect, test } from 'vitest';
import { idFor } from './pages';

test('a name becomes an id that the host takes', () => {
  const known: [string, string][] = [
    ['Notes', 'notes'],
    ['  Été à Paris! ', 'ete-a-paris'],
    ['a--b__c', 'a-b-c'],
    ['日本', 'page'],
    ['x'.repeat(62) + ' yz', 'x'.repeat(62)],
  ];
  for (const [name, id] of known) expect(idFor(name)).toBe(id);
});
