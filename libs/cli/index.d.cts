export * from 'nestjs-distribute-lock/core';
