// The preset for Stripe: payments, subscriptions, invoices, disputes; one session per customer.
import { definePreset, lines, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'

const Text = Type.Optional(Type.Union([Type.String(), Type.Null()]))
const Amount = Type.Optional(Type.Union([Type.Number(), Type.Null()]))
const Failure = Type.Optional(Type.Union([Type.Object({ message: Text }), Type.Null()]))

const Payload = Type.Object({
  id: Type.String({ minLength: 1 }),
  object: Type.Optional(Type.String()),
  type: Type.String({ minLength: 1 }),
  livemode: Type.Optional(Type.Boolean()),
  account: Text,
  data: Type.Object({
    object: Type.Object({
      id: Text,
      object: Text,
      amount: Amount,
      amount_total: Amount,
      amount_due: Amount,
      currency: Text,
      // An id, or a customer object if it was expanded.
      customer: Type.Optional(Type.Unknown()),
      customer_email: Text,
      email: Text,
      receipt_email: Text,
      name: Text,
      description: Text,
      status: Text,
      reason: Text,
      number: Text,
      failure_message: Text,
      last_payment_error: Failure,
      hosted_invoice_url: Text,
    }),
  }),
})
type Payload = Static<typeof Payload>
type Thing = Payload['data']['object']

export default definePreset<Payload>({
  name: 'stripe',
  description: 'Payments, subscriptions and invoices of Stripe.',
  payload: Payload,
  mapping: { name: 'Stripe' },
  auth: { scheme: 'stripe' },
  deliveryId: ({ payload: { id, type } }) => `${id} ${type}`,
  toAction,
})

/** Events that another event summarizes, and internal changes. */
const silent = new RegExp(
  [
    String.raw`^payment_intent\.(?:created|processing)$`,
    String.raw`^charge\.(?:pending|updated)$`,
    String.raw`^invoice\.(?:created|updated|finalized|sent)$`,
    String.raw`^(?:setup_intent\.created|customer\.updated|balance\.available)$`,
    String.raw`^(?:invoiceitem|billing_portal)\.`,
    String.raw`\.(?:draft|upcoming)$`,
  ].join('|'),
)

function toAction({ payload }: PresetRequest<Payload>) {
  const { type, livemode, data, account } = payload
  if (silent.test(type)) return null
  const thing = data.object
  return {
    message: messageOf(payload, thing),
    sessionKey: `hook:stripe:${customerOf(thing) ?? account ?? (livemode === false ? 'test' : 'live')}`,
  }
}

function messageOf({ id, type, livemode, account }: Payload, thing: Thing): string {
  const amount = thing.amount_total ?? thing.amount_due ?? thing.amount
  const failure = thing.failure_message ?? thing.last_payment_error?.message
  const who = [thing.name, thing.customer_email ?? thing.email ?? thing.receipt_email, customerOf(thing)]
    .filter(Boolean)
    .join(', ')
  return lines(
    `Stripe: ${type.replaceAll(/[._]/g, ' ')}` +
      (typeof amount === 'number' ? `, ${money(amount, thing.currency)}` : ''),
    livemode === false && 'This is a test: no real money.',
    who && `Customer: ${who}`,
    thing.status && `Status: ${thing.status}`,
    (failure || thing.reason) && `Reason: ${failure || thing.reason}`,
    thing.description && `For: ${thing.description}`,
    thing.number && `Number: ${thing.number}`,
    account && `Account: ${account}`,
    `Object: ${thing.object ?? 'object'} ${thing.id ?? ''}`.trimEnd(),
    thing.hosted_invoice_url ?? `https://dashboard.stripe.com/${livemode === false ? 'test/' : ''}events/${id}`,
  )
}

function customerOf({ id, object, customer }: Thing): string | undefined {
  if (object === 'customer') return id ?? undefined
  const found = typeof customer === 'object' && customer !== null ? (customer as { id?: unknown }).id : customer
  return typeof found === 'string' ? found : undefined
}

/** Amounts are in the smallest unit of a currency. These currencies have no smaller unit. */
function money(amount: number, currency: string | null | undefined): string {
  const code = currency?.toUpperCase() ?? ''
  const text = wholeCurrencies.has(code) ? amount.toFixed(0) : (amount / 100).toFixed(2)
  return `${text} ${code}`.trimEnd()
}

const wholeCurrencies: ReadonlySet<string> = new Set([
  'BIF',
  'CLP',
  'DJF',
  'GNF',
  'JPY',
  'KMF',
  'KRW',
  'MGA',
  'PYG',
  'RWF',
  'UGX',
  'VND',
  'VUV',
  'XAF',
  'XOF',
  'XPF',
])
