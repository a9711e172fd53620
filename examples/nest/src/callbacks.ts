import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common'
import { createReceiver } from 'countersign'
import { Bookings } from './bookings.js'

@Injectable()
export class Callbacks implements OnModuleInit, OnApplicationShutdown {
  readonly receiver = createReceiver({
    subscriptions: [
      {
        eventTypeName: 'transfers.book-completed',
        callbackUrl: process.env['CALLBACK_URL'] ?? '',
        secret: process.env['CALLBACK_SECRET'] ?? '',
      },
    ],
  })

  constructor(@Inject(Bookings) bookings: Bookings) {
    this.receiver.on('transfers.book-completed', async ({ payload }) => {
      await bookings.book(payload.Id)
    })
  }

  onModuleInit(): Promise<void> {
    return this.receiver.start()
  }

  onApplicationShutdown(): Promise<void> {
    return this.receiver.stop()
  }
}
