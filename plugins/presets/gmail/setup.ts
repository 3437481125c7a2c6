// Sets up the watch of a mailbox: gets credentials, creates what Pub/Sub needs, and tries each part.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { InputError, type Json, type PresetSetupContext, type Static, Type } from 'svc-gateway/plugin'
import { authorize, type OAuthClientFile } from './authorize.ts'
import { type Credentials, readCredentials, scopes } from './credentials.ts'
import { createGoogle, type Google } from './google.ts'
import { allowGmail, checkPull, createSubscription, createTopic, type Push } from './pubsub.ts'
import { defaultUrls, type Settings, type Watch } from './settings.ts'
import { checkAccount, findLabels, requestNotifications } from './watch.ts'

const Text = (description: string) => Type.Optional(Type.String({ minLength: 1, description }))

export const Answers = Type.Object({
  account: Type.String({ pattern: '^[^@\\s]+@[^@\\s]+$', description: 'the address of the mailbox' }),
  client: Text('the JSON file of an OAuth client (type "Desktop app") or the key of a service account'),
  mode: Type.Optional(
    Type.Enum(['poll', 'pull', 'push'], { description: 'how new mail is noticed: poll, pull or push (default: poll)' }),
  ),
  label: Text('only mails with this label (default: INBOX)'),
  project: Text('for pull and push: the Google Cloud project'),
  'push-email': Text('for push: the service account with which Pub/Sub signs'),
})
export type Answers = Static<typeof Answers>

const credentialsFile = 'gmail-credentials.json'

/** Returns the section `hooks.gmail`. */
export async function setup(answers: Answers, context: PresetSetupContext<Settings>) {
  const { account, mode = 'poll', label = 'INBOX' } = answers
  const { urls } = context.settings.watch ?? { urls: defaultUrls }
  const { push } = planOf(answers, context)
  const { credentials, project } = await findCredentials(answers, { ...context, urls, usesPubSub: mode !== 'poll' })
  const { signal, log } = context
  const google = await createGoogle({ credentials, account, urls, signal, log })
  await checkAccount(google, account)
  if (answers.client !== undefined) context.writePrivate(credentialsFile, credentials)
  context.done(`Google grants access to ${account}.`)
  const labelIds = await findLabels(google, [label])
  context.done(`The mailbox has the label ${label}.`)
  const pubsub = mode === 'poll' ? undefined : { ...namesOf(mode, answers.project ?? project), push }
  if (pubsub) await setUpPubSub(google, { ...pubsub, labelIds, member: memberOf(credentials, account) }, context)
  return {
    watch: {
      account,
      credentials: credentialsFile,
      labels: [label],
      topic: pubsub?.topic ?? null,
      subscription: (push ? undefined : pubsub?.subscription) ?? null,
    },
    ...(push && { auth: { scheme: 'google-oidc', audience: push.endpoint, email: push.email } }),
  }
}

function namesOf(mode: string, project: string | undefined) {
  if (project === undefined) throw new InputError('The project is not known; add --project <id>.')
  return { topic: `projects/${project}/topics/gmail`, subscription: `projects/${project}/subscriptions/gmail-${mode}` }
}

/** Who pulls, as the policies of Google Cloud name it. */
const memberOf = (credentials: Credentials, account: string): string =>
  credentials.type === 'service_account' ? `serviceAccount:${credentials.client_email}` : `user:${account}`

interface PubSub extends Plan {
  topic: string
  subscription: string
  labelIds: string[]
  member: string
}

/** Stops after the first group of steps that leaves something to do by hand. */
async function setUpPubSub(
  google: Google,
  { topic, subscription, labelIds, push, member }: PubSub,
  { done, todo }: Pick<PresetSetupContext, 'done' | 'todo'>,
): Promise<void> {
  const steps = [
    [`The topic ${topic} exists.`, await createTopic(google, topic)],
    ['Gmail may publish to the topic.', await allowGmail(google, topic)],
    [`The subscription ${subscription} exists.`, await createSubscription(google, { topic, subscription, push })],
  ] as const
  for (const step of steps) report(step)
  if (steps.some(([, byHand]) => byHand !== undefined)) return
  await requestNotifications(google, { topic, labelIds })
  done('Gmail sends notifications to the topic.')
  if (!push) report(['The gateway may pull them.', await checkPull(google, { subscription, member })])

  function report([text, byHand]: readonly [string, string | undefined]): void {
    if (byHand === undefined) done(text)
    else todo(`This account may not do it. Run: ${byHand}`)
  }
}

interface Plan {
  push: Push | undefined
}

/** Checks the answers before anything is created. */
function planOf({ mode, 'push-email': email }: Answers, { hookUrl }: PresetSetupContext<Settings>): Plan {
  if (mode !== 'push') return { push: undefined }
  if (hookUrl === undefined) throw new InputError('Push needs a public address; set gateway.publicUrl first.')
  if (email === undefined) throw new InputError('Push needs a service account that signs; add --push-email <address>.')
  return { push: { endpoint: hookUrl, email } }
}

type ClientFile = Json & { type?: string; project_id?: string; installed?: OAuthClientFile & { project_id?: string } }

/** Without `client`, the stored credentials are used. */
async function findCredentials(
  { account, client }: Answers,
  context: PresetSetupContext<Settings> & { urls: Watch['urls']; usesPubSub: boolean },
): Promise<{ credentials: Credentials; project?: string | undefined }> {
  if (client === undefined) {
    const stored = context.privatePath(credentialsFile)
    if (!existsSync(stored))
      throw new InputError(
        'There are no stored credentials yet; name the file from Google Cloud Console with --client.',
      )
    return { credentials: await readCredentials(stored) }
  }
  const parsed = await readClient(client)
  if (parsed.type === 'service_account')
    return { credentials: await readCredentials(client), project: parsed.project_id }
  const { installed } = parsed
  if (!installed?.client_id || !installed.client_secret)
    throw new InputError(
      `${client} is neither an OAuth client of the type "Desktop app" nor the key of a service account.`,
    )
  const { urls, signal, usesPubSub } = context
  const wanted = [scopes.gmail, ...(usesPubSub ? [scopes.pubsub] : [])]
  const show = (url: string) => context.todo(`Open this address in a browser on this machine, and agree: ${url}`)
  const credentials = await authorize({ client: installed, account, scopes: wanted, urls, show, signal })
  return { credentials, project: installed.project_id }
}

async function readClient(file: string): Promise<ClientFile> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as ClientFile
  } catch (cause) {
    throw new InputError(`${file} cannot be read as JSON; name the file that Google Cloud Console has downloaded.`, {
      cause,
    })
  }
}
