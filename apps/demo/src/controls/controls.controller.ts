import { Body, Controller, Get, HttpCode, Post, UseGuards } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';

import type { DemoState } from '../process/parent.js';
import { InstanceDto, SendDto } from './controls.dto.js';
import { ControlsGuard } from './controls.guard.js';
import { ControlsService, type DemoAnswer } from './controls.service.js';

/** The controls of the demo's page. */
@ApiExcludeController()
@Controller('controls')
@UseGuards(ControlsGuard)
export class ControlsController {
  constructor(private readonly controls: ControlsService) {}

  @Get('state')
  state(): DemoState {
    return this.controls.state;
  }

  @Post('send')
  @HttpCode(200)
  async send(@Body() body: SendDto): Promise<DemoAnswer[]> {
    return this.controls.send(body);
  }

  @Post('stop')
  @HttpCode(204)
  stop(@Body() { instance }: InstanceDto): void {
    this.controls.control('stop', instance);
  }

  @Post('start')
  @HttpCode(204)
  start(@Body() { instance }: InstanceDto): void {
    this.controls.control('start', instance);
  }

  @Post('restart')
  @HttpCode(204)
  restart(@Body() { instance }: InstanceDto): void {
    this.controls.control('restart', instance);
  }

  @Post('pause-redis')
  @HttpCode(204)
  pauseRedis(): void {
    this.controls.pauseRedis();
  }
}
