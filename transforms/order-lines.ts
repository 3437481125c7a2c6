// An order of a shop: creates an event for the order and a run for each article that is out of stock.
import {
  type ActionOverrides,
  quote,
  type Static,
  type TransformInput,
  type TransformResult,
  Type,
} from 'svc-gateway/transform'

const Line = Type.Object({
  sku: Type.String(),
  title: Type.String(),
  quantity: Type.Integer({ minimum: 1 }),
  stock: Type.Integer(),
})

export const payload = Type.Object({
  order: Type.String({ minLength: 1 }),
  currency: Type.String({ pattern: '^[A-Z]{3}$' }),
  total: Type.Number({ minimum: 0 }),
  lines: Type.Array(Line, { minItems: 1, maxItems: 150 }),
})

type Order = Static<typeof payload>

export default function transform({ payload }: TransformInput<Order>): TransformResult {
  const { order, currency, total, lines } = payload
  const summary: ActionOverrides = {
    action: 'wake',
    text: `Order ${order} of ${total.toFixed(2)} ${currency}, articles: ${lines.length}`,
    wakeMode: 'next-heartbeat',
  }
  return [summary, ...lines.filter(({ quantity, stock }) => quantity > stock).map((line) => reorder(order, line))]
}

function reorder(order: string, { sku, title, quantity, stock }: Order['lines'][number]): ActionOverrides {
  return {
    name: `Stock of ${sku}`,
    message:
      `Order ${order} needs ${quantity} of ${quote(title)} (${sku}), and ${Math.max(0, stock)} are in stock. ` +
      'Write the reorder for the supplier.',
    sessionKey: `hook:stock:${sku.toLowerCase()}`,
  }
}
