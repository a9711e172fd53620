import { Injectable } from '@nestjs/common'

/** Stands in for a table of your database, in which the transfer is unique: the same booking again changes nothing. */
@Injectable()
export class Bookings {
  readonly #rows = new Set<string>()

  async book(id: string): Promise<void> {
    this.#rows.add(id)
  }

  isBooked(id: string): boolean {
    return this.#rows.has(id)
  }
}
