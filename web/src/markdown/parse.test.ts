// Markdown as people write it, and as somebody writes it who wants something to run.
import { describe, expect, it } from 'vitest';
import { safeAddress } from './inline';
import { parse } from './parse';
import type { Block, Inline } from './tree';

/** A tree in one line. */
function told(parts: (Block | Inline)[]): string {
  return parts.map(one).join('');
}

function one(part: Block | Inline): string {
  switch (part.kind) {
    case 'text':
      return part.text;
    case 'break':
      return '⏎';
    case 'rule':
      return '(rule)';
    case 'code':
      return 'language' in part ? `(code ${part.language}: ${part.text})` : `(code: ${part.text})`;
    case 'link':
      return `(link ${part.address}: ${told(part.children)})`;
    case 'list':
      return `(${part.ordered ? `ol ${part.start}` : 'ul'} ${part.items.map((item) => `[${item.done ?? ''}${told(item.children)}]`).join('')})`;
    case 'table':
      return `(table ${part.head.map(told).join('|')} ${part.rows.map((row) => row.map(told).join('|')).join('/')})`;
    default:
      return `(${part.kind}${'level' in part ? part.level : ''} ${told(part.children)})`;
  }
}

const check = (text: string) => told(parse(text));

describe('blocks', () => {
  it('knows headings, paragraphs, quotes and rules', () => {
    expect(check('# Title #\n\nOne\ntwo\n\n> said\n> so\n\n---\nafter')).toBe(
      '(heading1 Title)(paragraph One⏎two)(quote (paragraph said⏎so))(rule)(paragraph after)',
    );
  });

  it('keeps code as it is, also without an end', () => {
    expect(check('```py\nprint("<b>")\n\n# no heading\n```\nx')).toBe(
      '(code py: print("<b>")\n\n# no heading)(paragraph x)',
    );
    expect(check('~~~\nopen')).toBe('(code : open)');
  });

  it('knows lists inside lists, tasks and numbers', () => {
    expect(check('- a\n  - b\n  - c\n- d')).toBe('(ul [(paragraph a)(ul [(paragraph b)][(paragraph c)])][(paragraph d)])');
    expect(check('3. x\n4. y')).toBe('(ol 3 [(paragraph x)][(paragraph y)])');
    expect(check('- [x] done\n- [ ] open')).toBe('(ul [true(paragraph done)][false(paragraph open)])');
    expect(check('In\n1984. a year')).toBe('(paragraph In⏎1984. a year)');
  });

  it('knows tables', () => {
    expect(check('| a | b |\n|---|:-:|\n| 1 | 2 |\n| 3 |')).toBe('(table a|b 1|2/3|)');
    expect(check('a | b\nno table')).toBe('(paragraph a | b⏎no table)');
  });
});

describe('inside a line', () => {
  it('knows emphasis and code', () => {
    expect(check('**a** *b* ~~c~~ `d**` _e_ snake_case_name 2*3*4')).toBe(
      '(paragraph (strong a) (emphasis b) (struck c) (code: d**) (emphasis e) snake_case_name 2(emphasis 3)4)',
    );
    expect(check('**bold *and* more** \\*not\\*')).toBe('(paragraph (strong bold (emphasis and) more) *not*)');
    expect(check('a ** b * c')).toBe('(paragraph a ** b * c)');
  });

  it('links what is an address of the web and nothing else', () => {
    expect(check('[a](https://x.y/z "t") https://q.r/s. <mailto:a@b.c>')).toBe(
      '(paragraph (link https://x.y/z: a) (link https://q.r/s: https://q.r/s). (link mailto:a@b.c: a@b.c))',
    );
  });
});

describe('hostile text', () => {
  it('has no part that holds markup', () => {
    const text = '<img src=x onerror=alert(1)><script>alert(1)</script>\n\n<svg/onload=alert(1)>';
    expect(check(text)).toBe(
      '(paragraph <img src=x onerror=alert(1)><script>alert(1)</script>)(paragraph <svg/onload=alert(1)>)',
    );
  });

  it('opens no address that could run', () => {
    for (const address of [
      'javascript:alert(1)',
      'JaVaScRiPt:alert(1)',
      ' javascript:alert(1)',
      'java\nscript:alert(1)',
      'data:text/html,<script>alert(1)</script>',
      'vbscript:x',
      'file:///etc/passwd',
      'blob:http://127.0.0.1/x',
      '#/agents',
      '/login',
      '//evil.example',
      'https:evil',
      'http://',
    ]) {
      expect(safeAddress(address), address).toBeUndefined();
      expect(check(`[x](${address})`)).not.toContain('(link');
    }
  });

  it('shows pictures as links, so that nothing is fetched', () => {
    expect(check('![track](https://evil.example/p.png)')).toBe('(paragraph (link https://evil.example/p.png: track))');
  });

  it('stays quick and shallow whatever is nested', () => {
    const start = performance.now();
    for (const text of ['['.repeat(50_000), '*'.repeat(50_000), '> '.repeat(20_000), '`'.repeat(20_000), '**a'.repeat(5_000), '- '.repeat(20_000)]) {
      parse(text);
    }
    expect(performance.now() - start).toBeLessThan(2000);
  });
});
