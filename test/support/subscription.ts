export const SECRET = 's3cret~Text-with_dots.and-dashes-0123456'

export const subscription = {
  eventTypeName: 'transfers.book-completed',
  callbackUrl: 'https://partner.example.com/hooks/transfers',
  secret: SECRET,
}
