import { hashed } from './redis-keys.js';

/** Table of the CRC16 (XMODEM) with which Redis Cluster hashes keys, one entry per byte. */
const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  return crc;
});
const SLOTS = 16_384;

/** The slot of a key in Redis Cluster. */
export function slotOf(key: string): number {
  let crc = 0;
  for (const byte of Buffer.from(hashed(key))) crc = ((crc << 8) & 0xffff) ^ TABLE[(crc >> 8) ^ byte];
  return crc % SLOTS;
}
