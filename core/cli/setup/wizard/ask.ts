// Questions about settings, in the terminal.
import { password, text } from '@clack/prompts'
import { answerOf, choose } from '../../prompts.ts'
import { firstProblem, type JsonSchema, listProblems } from '../../../typebox.ts'
import { reference, secretText, type Setting } from '../variables.ts'

interface TextQuestion {
  message: string
  /** What the answer must fit. */
  schema: JsonSchema
  /** The name of the answer in the message about a wrong one. */
  name: string
  initialValue?: string
  placeholder?: string
  /** A blank answer is accepted. */
  isOptional?: boolean
}

export async function askText({ schema, name, isOptional, ...question }: TextQuestion): Promise<string> {
  const validate = (value = ''): string | undefined =>
    value.trim() === '' ? findBlank(name, isOptional) : findProblem(schema, value.trim(), name)
  return (await answerOf(text({ ...question, validate }))).trim()
}

type SecretQuestion = Omit<TextQuestion, 'initialValue' | 'placeholder'>

/** Returns the text for the file. The answer may be a reference to a variable. */
export async function askSecret(
  { message, schema, name, isOptional }: SecretQuestion,
  env: NodeJS.ProcessEnv,
): Promise<string> {
  const validate = (value = ''): string | undefined => {
    if (value.trim() === '') return findBlank(name, isOptional)
    const variable = /^\$\{(\w+)\}$/.exec(value.trim())?.[1]
    const secret = variable === undefined ? value.trim() : env[variable]
    return secret === undefined ? `The environment variable ${variable} is not set.` : findProblem(schema, secret, name)
  }
  return secretText((await answerOf(password({ message: `${message} (or \${VARIABLE})`, validate }))).trim())
}

/** Not every schema refuses a blank answer. */
const findBlank = (name: string, isOptional = false): string | undefined =>
  isOptional ? undefined : `${name} must not be blank.`

/** The messages never contain the value. */
function findProblem(schema: JsonSchema, value: string, name: string): string | undefined {
  const problems = listProblems(schema, value)
  return problems.length > 0 ? `${firstProblem(problems, name)}.` : undefined
}

/** Asks for one setting of an extension. A variable with the usual name is offered first. */
export async function askSetting(
  { key, schema, isSecret, isOptional = false }: Setting,
  { name, variable, env }: SettingOwner,
) {
  const message = `${name} ${key}: ${(schema.description ?? key).replace(/\.$/, '')}`
  if (env[variable] && (await useVariable(`${name} ${key}`, variable))) return reference(variable)
  const question = { message, schema, name: key, isOptional }
  return isSecret ? await askSecret(question, env) : await askText(question)
}

interface SettingOwner {
  /** What the question begins with. */
  name: string
  variable: string
  env: NodeJS.ProcessEnv
}

const useVariable = (message: string, variable: string): Promise<boolean> =>
  choose(message, [
    { value: true, label: `Use the environment variable ${variable}` },
    { value: false, label: 'Type it in' },
  ])
