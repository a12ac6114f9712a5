import { Module } from '@nestjs/common';
import { LockModule } from 'nestjs-distribute-lock';

import { Database } from './database.js';
import { Invoices } from './invoices.js';
import { PaymentsController } from './payments.controller.js';
import { PostsController } from './posts.controller.js';
import { StockService } from './stock.service.js';

@Module({ controllers: [PaymentsController, PostsController], providers: [Database, Invoices, StockService] })
class ShopModule {}

// #region module
@Module({ imports: [LockModule.forRoot({ connection: process.env.REDIS_URL }), ShopModule] })
export class AppModule {}
// #endregion
