/** Separates an owner token from the number of its ballot; neither contains it. */
const SEPARATOR = 'R';

/** Creates a unique token for each ballot of this process. */
export class BallotTokens {
  private sequence = 0;

  next(ownerToken: string): string {
    this.sequence += 1;
    return `${ownerToken}${SEPARATOR}${this.sequence.toString(36)}`;
  }
}

/** The owner token of a ballot token; an owner token is returned unchanged. */
export const ownerOf = (token: string): string => token.replace(/R[0-9a-z]+$/, '');
