import { Body, Controller, Module, Post, type INestApplication } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { Bookings } from './bookings.js'
import { Callbacks } from './callbacks.js'

@Controller('customers')
class CustomersController {
  @Post()
  create(@Body() { name }: { name: string }) {
    return { name }
  }
}

@Module({ controllers: [CustomersController], providers: [Bookings, Callbacks] })
class AppModule {}

export async function createApp(): Promise<INestApplication> {
  const app = await NestFactory.create(AppModule, { logger: ['warn', 'error'] })
  // Before app.listen(), which mounts the body parsers of Nest.
  app.use('/hooks/transfers', app.get(Callbacks).receiver.middleware())
  app.enableShutdownHooks()
  return app
}
