import { Injectable, Module } from '@nestjs/common';
import { LockModule } from 'nestjs-distribute-lock';

/** Issues tokens that expire. */
@Injectable()
export class Tokens {
  async current(): Promise<string> {
    return 'token';
  }
}

@Module({ providers: [Tokens], exports: [Tokens] })
class TokensModule {}

// #region module
@Module({
  imports: [
    LockModule.forRootAsync({
      imports: [TokensModule],
      inject: [Tokens],
      useFactory: (tokens: Tokens) => ({
        connection: process.env.REDIS_URL ?? 'memory',
        credentials: async () => ({ username: 'locks', password: await tokens.current() }),
      }),
    }),
  ],
})
export class AppModule {}
// #endregion
