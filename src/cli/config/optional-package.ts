import { CountersignError } from '../../base/errors.js'

/** Imports a package that the application installs. @throws CountersignError ERR_CONFIG_INVALID */
export async function optionalPackage<Module>(
  option: string,
  name: string,
  load: () => Promise<Module>,
): Promise<Module> {
  try {
    return await load()
  } catch (error) {
    const message = `${option} needs the package ${name}, which cannot be loaded. Run "npm install ${name}".`
    throw new CountersignError('ERR_CONFIG_INVALID', message, { cause: error })
  }
}
