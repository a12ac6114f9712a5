const CR = 0x0d;
/** Types of RESP2 and RESP3 whose first line says how many values follow. */
const AGGREGATES: Readonly<Record<string, number>> = { '*': 1, '~': 1, '>': 1, '%': 2, '|': 2 };
const BULKS = '$=!';

/** Splits a RESP stream into values, independent of its chunks. */
export class RespFrames {
  private rest: Buffer = Buffer.alloc(0);

  /** Returns the values that are complete now, each with all of its bytes. */
  push(chunk: Buffer): Buffer[] {
    this.rest = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    const frames: Buffer[] = [];
    for (;;) {
      const end = endOfValue(this.rest, 0);
      if (end === undefined) return frames;
      frames.push(this.rest.subarray(0, end));
      this.rest = this.rest.subarray(end);
    }
  }
}

/** The words of a request, or the bulk strings of a reply. */
export function wordsOf(frame: Buffer): string[] {
  const words: string[] = [];
  let at = endOfLine(frame, 0) ?? frame.length;
  while (at < frame.length) {
    const line = endOfLine(frame, at) ?? frame.length;
    const isBulk = BULKS.includes(String.fromCharCode(frame[at]));
    const end = isBulk ? (endOfValue(frame, at) ?? frame.length) : line;
    words.push(isBulk ? frame.toString('latin1', line, end - 2) : frame.toString('latin1', at + 1, line - 2));
    at = end;
  }
  return words;
}

function endOfValue(bytes: Buffer, at: number): number | undefined {
  const line = endOfLine(bytes, at);
  if (line === undefined) return undefined;
  const type = String.fromCharCode(bytes[at]);
  const count = Number(bytes.toString('latin1', at + 1, line - 2));
  if (BULKS.includes(type)) {
    const end = count < 0 ? line : line + count + 2;
    return end <= bytes.length ? end : undefined;
  }
  let end: number | undefined = line;
  const values = (AGGREGATES[type] ?? 0) * Math.max(0, count) + (type === '|' ? 1 : 0);
  for (let i = 0; i < values && end !== undefined; i += 1) end = endOfValue(bytes, end);
  return end;
}

function endOfLine(bytes: Buffer, at: number): number | undefined {
  const end = bytes.indexOf(CR, at);
  return end < 0 || end + 2 > bytes.length ? undefined : end + 2;
}
