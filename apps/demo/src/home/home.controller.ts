import { Controller, Get, Header, Headers } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';

import { DemoSettings } from '../settings/demo-settings.js';
import { homePage } from './home-page.js';

@ApiExcludeController()
@Controller()
export class HomeController {
  constructor(private readonly settings: DemoSettings) {}

  @Get()
  @Header('content-type', 'text/html; charset=utf-8')
  home(@Headers('host') host: string): string {
    return homePage(this.settings.instance, host);
  }
}
