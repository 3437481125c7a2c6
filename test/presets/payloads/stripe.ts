// Payloads of Stripe, written by hand after its documentation.
import { one, type Samples } from '../sample.ts'

const event = (type: string, object: object, more: object = {}) => ({
  id: 'evt_1',
  object: 'event',
  api_version: '2025-03-31',
  created: 1_900_000_000,
  livemode: true,
  pending_webhooks: 1,
  type,
  data: { object },
  ...more,
})
const updated = (type: string, object: object, before: object) =>
  event(type, object, { data: { object, previous_attributes: before } })

const charge = {
  id: 'ch_1',
  object: 'charge',
  amount: 2099,
  amount_captured: 0,
  amount_refunded: 0,
  currency: 'usd',
  customer: 'cus_9',
  billing_details: { name: 'Ada Lovelace', email: null, phone: null },
  receipt_email: 'ada@example.com',
  status: 'failed',
  failure_message: 'Your card was declined.',
  description: null,
}
const paid = { ...charge, amount: 1000, amount_captured: 1000, status: 'succeeded', failure_message: null }
const refund = {
  id: 're_1',
  object: 'refund',
  amount: 300,
  charge: 'ch_1',
  currency: 'usd',
  reason: 'requested_by_customer',
  status: 'succeeded',
}
const intent = {
  id: 'pi_1',
  object: 'payment_intent',
  amount: 1000,
  amount_capturable: 0,
  amount_received: 1000,
  currency: 'eur',
  customer: 'cus_9',
  status: 'succeeded',
  last_payment_error: null,
}
const session = {
  id: 'cs_1',
  object: 'checkout.session',
  amount_total: 500,
  currency: 'jpy',
  customer: null,
  customer_email: null,
  customer_details: { name: 'Ada Lovelace', email: 'ada@example.com', phone: null },
  status: 'complete',
}
const invoice = {
  id: 'in_1',
  object: 'invoice',
  amount_due: 1000,
  amount_paid: 0,
  amount_remaining: 1000,
  currency: 'eur',
  customer: { id: 'cus_9', object: 'customer' },
  customer_name: 'Ada Lovelace',
  customer_email: 'ada@example.com',
  number: 'A-1',
  status: 'open',
  hosted_invoice_url: 'https://invoice.stripe.com/i/1',
}
const price = {
  id: 'price_1',
  object: 'price',
  currency: 'usd',
  nickname: null,
  unit_amount: 1000,
  recurring: { interval: 'month', interval_count: 1 },
}
const subscription = {
  id: 'sub_1',
  object: 'subscription',
  customer: 'cus_9',
  currency: 'usd',
  status: 'active',
  cancel_at: null,
  cancel_at_period_end: false,
  ended_at: null,
  trial_end: null,
  items: {
    object: 'list',
    data: [{ id: 'si_1', object: 'subscription_item', price, quantity: 2, current_period_end: 1_902_000_000 }],
  },
}
const payout = {
  id: 'po_1',
  object: 'payout',
  amount: 1000,
  arrival_date: 1_900_000_000,
  currency: 'usd',
  status: 'paid',
  description: 'STRIPE PAYOUT',
}
const dispute = {
  id: 'dp_1',
  object: 'dispute',
  amount: 1000,
  currency: 'usd',
  reason: 'fraudulent',
  status: 'needs_response',
  evidence_details: { due_by: 1_900_000_000, has_evidence: false },
}

/** One charge of 12345 of the smallest unit in each kind of currency. */
const inCurrency = (currency: string, amount: number) =>
  one(`a charge in ${currency}`, event('charge.succeeded', { ...paid, amount, currency, customer: null }))

export const stripe: Samples = {
  told: [
    one('a charge that failed', event('charge.failed', charge)),
    one('a charge that was captured in part', event('charge.captured', { ...paid, amount_captured: 800 })),
    one(
      'a first refund of a part',
      updated('charge.refunded', { ...paid, amount_refunded: 300, refunded: false }, { amount_refunded: 0 }),
    ),
    one(
      'a second refund of a part',
      updated('charge.refunded', { ...paid, amount_refunded: 500, refunded: false }, { amount_refunded: 300 }),
    ),
    one('a full refund', event('charge.refunded', { ...paid, amount_refunded: 1000, refunded: true })),
    one('the refund itself', event('refund.created', refund)),
    one('a refund that failed', event('refund.failed', { ...refund, status: 'failed', failure_reason: 'declined' })),
    one('an application fee of which a part is refunded', {
      ...event('application_fee.refunded', {
        id: 'fee_1',
        object: 'application_fee',
        amount: 100,
        amount_refunded: 25,
        currency: 'usd',
      }),
    }),
    one(
      'a transfer that is reversed in part',
      event('transfer.reversed', {
        id: 'tr_1',
        object: 'transfer',
        amount: 900,
        amount_reversed: 200,
        currency: 'usd',
      }),
    ),
    one('a payment', event('payment_intent.succeeded', { ...intent, amount_received: 900 })),
    one(
      'a payment that failed',
      event('payment_intent.payment_failed', {
        ...intent,
        amount_received: 0,
        status: 'requires_payment_method',
        last_payment_error: { message: 'The card has expired.' },
      }),
    ),
    one(
      'a payment that can be captured',
      event('payment_intent.amount_capturable_updated', {
        ...intent,
        amount_capturable: 700,
        amount_received: 0,
        status: 'requires_capture',
      }),
    ),
    one(
      'a checkout that is not paid yet',
      event('checkout.session.completed', { ...session, payment_status: 'unpaid' }),
    ),
    one('a checkout in yen, of a test', event('checkout.session.completed', session, { livemode: false })),
    one(
      'a new customer',
      event('customer.created', {
        id: 'cus_9',
        object: 'customer',
        name: 'Ada',
        email: 'ada@example.com',
        description: null,
      }),
    ),
    one('a new subscription', event('customer.subscription.created', subscription)),
    one(
      'a subscription that was cancelled to the end of its period',
      updated(
        'customer.subscription.updated',
        { ...subscription, cancel_at_period_end: true, cancel_at: 1_902_000_000 },
        { cancel_at_period_end: false, cancel_at: null },
      ),
    ),
    one(
      'the same in an older API version',
      event('customer.subscription.updated', {
        ...subscription,
        cancel_at_period_end: true,
        current_period_end: 1_902_000_000,
        items: { data: [{ plan: { amount: 500, currency: 'usd', interval: 'week', interval_count: 2 }, quantity: 1 }] },
      }),
    ),
    one(
      'a subscription that has ended',
      event('customer.subscription.deleted', { ...subscription, status: 'canceled', ended_at: 1_902_000_000 }),
    ),
    one(
      'a trial that ends',
      event('customer.subscription.trial_will_end', {
        ...subscription,
        status: 'trialing',
        trial_end: 1_901_000_000,
      }),
    ),
    one(
      'a subscription whose payment failed',
      updated('customer.subscription.updated', { ...subscription, status: 'past_due' }, { status: 'active' }),
    ),
    one(
      'an invoice that was paid',
      event('invoice.paid', { ...invoice, amount_paid: 1000, amount_remaining: 0, status: 'paid' }),
    ),
    one('an invoice that was not paid', event('invoice.payment_failed', { ...invoice, amount_remaining: 600 })),
    one('a dispute of a connected account', event('charge.dispute.created', dispute, { account: 'acct_1' })),
    one(
      'a charge that is not captured yet',
      event('charge.succeeded', { ...paid, amount_captured: 0, captured: false }),
    ),
    one(
      'a warning of fraud',
      event('radar.early_fraud_warning.created', {
        id: 'issfr_1',
        object: 'radar.early_fraud_warning',
        actionable: true,
        charge: 'ch_1',
        fraud_type: 'made_with_stolen_card',
      }),
    ),
    one('a payout', event('payout.paid', payout)),
    one('a payout in forints', event('payout.paid', { ...payout, currency: 'huf' })),
    one('a payout in Taiwan dollars', event('payout.paid', { ...payout, amount: 80_000, currency: 'twd' })),
    one(
      'a product',
      event('product.created', { id: 'prod_1', object: 'product', name: 'T-shirt', description: 'Made of cotton' }),
    ),
    one('a price', event('price.created', { ...price, recurring: { interval: 'month', interval_count: 3 } })),
    one('a coupon', event('coupon.created', { id: 'c1', object: 'coupon', name: 'Spring', percent_off: 25 })),
    one('a coupon of an amount', {
      ...event('coupon.created', { id: 'c2', object: 'coupon', name: 'Five', amount_off: 500, currency: 'eur' }),
    }),
    one(
      'a promotion code',
      event('promotion_code.created', { id: 'promo_1', object: 'promotion_code', code: 'SPRING' }),
    ),
    one(
      'an account that changed',
      event('account.updated', { id: 'acct_1', object: 'account', email: 'shop@example.com' }, { account: 'acct_1' }),
    ),
    one(
      'amounts that are an object',
      event('billing.credit_grant.created', {
        id: 'credgr_1',
        object: 'billing.credit_grant',
        amount: { type: 'monetary', monetary: { currency: 'usd', value: 1000 } },
        customer: 'cus_9',
        name: 'Welcome',
      }),
    ),
    one(
      'a card of a customer',
      event('payment_method.attached', {
        id: 'pm_1',
        object: 'payment_method',
        type: 'card',
        customer: 'cus_9',
        billing_details: { name: 'Ada Lovelace', email: 'ada@example.com', phone: null },
        card: { brand: 'visa', last4: '4242', exp_month: 8, exp_year: 2030, funding: 'credit' },
      }),
    ),
    one(
      'an account of a customer',
      event('payment_method.detached', {
        id: 'pm_2',
        object: 'payment_method',
        type: 'us_bank_account',
        customer: null,
        us_bank_account: { bank_name: 'STRIPE TEST BANK', last4: '6789', account_type: 'checking' },
      }),
    ),
    one(
      'a way to pay without a number',
      event('payment_method.attached', { id: 'pm_3', object: 'payment_method', type: 'amazon_pay', amazon_pay: {} }),
    ),
    one(
      'a card that was replaced',
      updated(
        'payment_method.automatically_updated',
        {
          id: 'pm_1',
          object: 'payment_method',
          type: 'card',
          customer: 'cus_9',
          card: { brand: 'visa', last4: '1881', exp_month: 12, exp_year: 2032 },
        },
        { card: { exp_year: 2030, last4: '4242' } },
      ),
    ),
    one(
      'a card that expires',
      event('customer.source.expiring', {
        id: 'card_1',
        object: 'card',
        brand: 'Visa',
        last4: '4242',
        exp_month: 8,
        exp_year: 2030,
        name: 'Ada Lovelace',
        customer: 'cus_9',
      }),
    ),
    one(
      'a source',
      event('source.chargeable', {
        id: 'src_1',
        object: 'source',
        amount: 1000,
        currency: 'eur',
        type: 'sepa_debit',
        status: 'chargeable',
        client_secret: 'src_client_secret_1',
        owner: { name: 'Ada Lovelace', email: 'ada@example.com', phone: null },
        sepa_debit: { bank_code: '3704', country: 'DE', last4: '3000' },
      }),
    ),
    one(
      'a charge with its card',
      event('charge.succeeded', {
        ...paid,
        payment_method_details: { type: 'card', card: { brand: 'visa', last4: '4242', exp_month: 8, exp_year: 2030 } },
      }),
    ),
    one(
      'a discount of a customer',
      event('customer.discount.created', {
        id: 'di_1',
        object: 'discount',
        customer: 'cus_9',
        coupon: {
          id: 'c1',
          object: 'coupon',
          name: 'Spring',
          percent_off: 25,
          duration: 'repeating',
          duration_in_months: 3,
        },
        end: 1_902_000_000,
      }),
    ),
    one(
      'a discount in a newer API version',
      event('customer.discount.deleted', {
        id: 'di_1',
        object: 'discount',
        customer: 'cus_9',
        source: { type: 'coupon', coupon: 'c1' },
      }),
    ),
    one(
      'a promotion code with its coupon',
      event('promotion_code.created', {
        id: 'promo_2',
        object: 'promotion_code',
        code: 'FIVE',
        coupon: { id: 'c2', object: 'coupon', amount_off: 500, currency: 'eur', duration: 'once' },
      }),
    ),
    one(
      'a tax rate',
      event('tax_rate.created', {
        id: 'txr_1',
        object: 'tax_rate',
        display_name: 'VAT',
        description: 'VAT Germany',
        percentage: 19,
        inclusive: true,
        jurisdiction: 'DE',
        country: 'DE',
        active: true,
      }),
    ),
    one(
      'a changed tax rate',
      updated(
        'tax_rate.updated',
        { id: 'txr_1', object: 'tax_rate', display_name: 'VAT', percentage: 7, inclusive: false, country: 'DE' },
        { active: true, description: null },
      ),
    ),
    one(
      'a payment link',
      event('payment_link.created', {
        id: 'plink_1',
        object: 'payment_link',
        active: true,
        currency: 'usd',
        url: 'https://buy.stripe.com/test_1',
      }),
    ),
    one(
      'a payment link that was switched off',
      updated(
        'payment_link.updated',
        { id: 'plink_1', object: 'payment_link', active: false, url: 'https://buy.stripe.com/test_1' },
        { active: true },
      ),
    ),
    one(
      'a transfer',
      event('transfer.created', {
        id: 'tr_1',
        object: 'transfer',
        amount: 900,
        amount_reversed: 0,
        currency: 'usd',
        destination: 'acct_2',
      }),
    ),
    one(
      'a second part of a transfer that is reversed',
      updated(
        'transfer.reversed',
        { id: 'tr_1', object: 'transfer', amount: 900, amount_reversed: 500, currency: 'usd', destination: 'acct_2' },
        { amount_reversed: 200 },
      ),
    ),
    one(
      'a transfer that was changed',
      updated(
        'transfer.updated',
        { id: 'tr_1', object: 'transfer', amount: 900, currency: 'usd', description: 'March', destination: 'acct_2' },
        { amount: 1100, description: null, metadata: { a: '1' } },
      ),
    ),
    one(
      'an object without words of its own',
      event('identity.verification_session.requires_input', {
        id: 'vs_1',
        object: 'identity.verification_session',
        created: 1_900_000_000,
        status: 'requires_input',
        type: 'document',
        client_secret: 'vs_1_secret_2',
        last_error: { code: 'document_expired', reason: 'The document has expired.' },
        url: 'https://verify.stripe.com/start/1',
      }),
    ),
    one(
      'a top-up',
      event('topup.failed', {
        id: 'tu_1',
        object: 'topup',
        amount: 1000,
        currency: 'usd',
        status: 'failed',
        failure_message: 'Insufficient funds.',
        expected_availability_date: 1_900_000_000,
        statement_descriptor: 'TOPUP',
      }),
    ),
    one('an amount that is a text', event('charge.failed', { ...charge, amount: '20.99' })),
    one('fields of other types', event('charge.failed', { ...charge, status: 5, billing_details: 'Ada', customer: 7 })),
    inCurrency('usd', 12_345),
    inCurrency('krw', 12_345),
    inCurrency('kwd', 12_340),
    inCurrency('isk', 500),
    inCurrency('ugx', 500),
    inCurrency('huf', 12_345),
  ],
  silent: [
    one('an intent', event('payment_intent.created', { id: 'pi_1', object: 'payment_intent' })),
    one('an upcoming invoice', event('invoice.upcoming', { object: 'invoice' })),
  ],
  wrong: [
    one('nothing', {}),
    one('no id', { type: 'charge.failed', data: { object: charge } }),
    one('an id that is none', { id: {}, type: 'charge.failed', data: { object: charge } }),
    one('no data', { id: 'evt_1', type: 'charge.failed' }),
    one('an object that is a text', { id: 'evt_1', type: 'charge.failed', data: { object: 'ch_1' } }),
    one('a type that is empty', { id: 'evt_1', type: '', data: { object: charge } }),
  ],
}
