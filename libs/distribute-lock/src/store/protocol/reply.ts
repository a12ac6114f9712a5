export type ReplyWord = number | string;

/** The reply to one command: its code, and two words whose meaning depends on the code. */
export type Reply = [code: number, x: ReplyWord, y: ReplyWord];

/** The replies to the commands of a call, in one flat list. */
export type Replies = ReplyWord[];

/** Adds the reply to the command with this index. */
export function addReply(replies: Replies, i: number, reply: Reply): void {
  replies[3 * i] = reply[0];
  replies[3 * i + 1] = reply[1];
  replies[3 * i + 2] = reply[2];
}
