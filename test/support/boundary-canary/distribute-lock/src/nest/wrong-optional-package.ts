export { HealthIndicatorService } from '@nestjs/terminus';
