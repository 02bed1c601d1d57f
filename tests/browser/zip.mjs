// Zips as stories need them, hostile ones too: any name, links, and contents that grow a thousandfold.
import { crc32, deflateRawSync } from 'node:zlib';

const LINK = 0o120777;
const FILE = 0o100644;

/** Makes a zip of `[{name, content, isLink}]`. */
export function zip(entries) {
  const locals = [];
  const directory = [];
  let offset = 0;
  for (const { name, content, isLink = false } of entries) {
    const raw = Buffer.from(content);
    const packed = deflateRawSync(raw);
    const path = Buffer.from(name);
    const known = Buffer.alloc(26);
    known.writeUInt16LE(20, 0);
    known.writeUInt16LE(0x0800, 2);
    known.writeUInt16LE(8, 4);
    known.writeUInt16LE(0x21, 8);
    known.writeUInt32LE(crc32(raw), 10);
    known.writeUInt32LE(packed.length, 14);
    known.writeUInt32LE(raw.length, 18);
    known.writeUInt16LE(path.length, 22);
    const local = Buffer.concat([signature(0x04034b50), known, path, packed]);
    const about = Buffer.alloc(14);
    about.writeUInt16LE(0, 0);
    about.writeUInt32LE(((isLink ? LINK : FILE) << 16) >>> 0, 6);
    about.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([signature(0x02014b50), Buffer.from([20, 3]), known, about, path]));
    locals.push(local);
    offset += local.length;
  }
  const list = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(list.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...locals, list, signature(0x06054b50), end]);
}

function signature(number) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(number);
  return bytes;
}

/** The zip of a page app, with more entries where a story wants them. */
export function pageZip(id, more = [], manifest = {}) {
  const whole = { id, name: id, version: '1.0.0', entry: 'index.html', ...manifest };
  return zip([
    { name: 'manifest.json', content: JSON.stringify(whole) },
    { name: 'index.html', content: `<!doctype html><title>${id}</title><h1>${id} is here</h1>` },
    ...more,
  ]);
}
