import { type SettingDefinition, type Settings, settingDefinitions } from './config/setting-definitions.ts';
import { assertKnownNames } from './config/setting-names.ts';
import { UpkeepError } from './errors.ts';

export type { SettingDefinition, Settings } from './config/setting-definitions.ts';
export { settingDefinitions } from './config/setting-definitions.ts';

const millisecondsPer = { seconds: 1000, days: 86_400_000 } as const;

/**
 * Reads the settings from the environment; a name that is absent takes its default.
 * `alsoKnown`: further names of the caller's own that share a prefix with the settings.
 * @throws UpkeepError `SETTING_INVALID` for a value that does not parse, `SETTING_UNKNOWN` for a name that is a typo (both permanent).
 * @example loadSettings({ MIN_FRAGMENTS: '32' }).minFragments // 32
 */
export function loadSettings(
  environment: Readonly<Record<string, string | undefined>>,
  alsoKnown: readonly string[] = [],
): Settings {
  assertKnownNames(environment, alsoKnown);
  const values = settingDefinitions.map((setting) => {
    const text = environment[setting.name];
    return [setting.property, parse(setting, text ?? setting.default)] as const;
  });
  return Object.freeze(Object.fromEntries(values)) as unknown as Settings;
}

function parse(setting: SettingDefinition, text: string): boolean | number | readonly string[] {
  if (setting.unit === 'list') {
    const parts = text.split(',').map((part) => part.trim());
    return Object.freeze(parts.filter((part) => part !== ''));
  }
  if (setting.unit === 'true or false') {
    if (text === 'true') return true;
    if (text === 'false') return false;
    throw invalid(setting, text, 'it must be true or false');
  }
  const unit = setting.unit === 'count' ? '' : ` of ${setting.unit}`;
  if (!/^[0-9]+$/.test(text)) throw invalid(setting, text, `it must be a whole number${unit}, in digits only`);
  const scale = setting.unit === 'seconds' || setting.unit === 'days' ? millisecondsPer[setting.unit] : 1;
  const value = Number(text) * scale;
  if (!Number.isSafeInteger(value)) throw invalid(setting, text, 'it is too large');
  const least = setting.least ?? 0;
  if (value < least * scale) throw invalid(setting, text, `it must be at least ${least}`);
  return value;
}

function invalid(setting: SettingDefinition, text: string, why: string): UpkeepError {
  return new UpkeepError(`${setting.name}=${JSON.stringify(text)} cannot be used: ${why}.`, {
    code: 'SETTING_INVALID',
    disposition: 'permanent',
    next: `Correct ${setting.name}, or leave it out: the default is ${setting.default}.`,
    details: { name: setting.name, value: text, unit: setting.unit },
  });
}
