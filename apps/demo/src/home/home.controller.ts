import { Controller, Get, Header } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';

import { DemoSettings } from '../settings/demo-settings.js';
import { asset, homePage } from './home-page.js';

@ApiExcludeController()
@Controller()
export class HomeController {
  private readonly demoScript = asset('demo.js');
  private readonly demoStyle = asset('demo.css');

  constructor(private readonly settings: DemoSettings) {}

  @Get()
  @Header('content-type', 'text/html; charset=utf-8')
  home(): string {
    return homePage(this.settings.instance);
  }

  @Get('demo.js')
  @Header('content-type', 'text/javascript; charset=utf-8')
  script(): string {
    return this.demoScript;
  }

  @Get('demo.css')
  @Header('content-type', 'text/css; charset=utf-8')
  style(): string {
    return this.demoStyle;
  }
}
