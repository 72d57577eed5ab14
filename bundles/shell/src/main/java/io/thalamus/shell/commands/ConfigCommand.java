// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import io.thalamus.api.NeuralNetworks;
import io.thalamus.console.Candidates;
import io.thalamus.console.Candidates.Kind;
import io.thalamus.console.Command;
import io.thalamus.console.CommandException;
import io.thalamus.console.Invocation;
import io.thalamus.console.Result;
import io.thalamus.console.Syntax;
import io.thalamus.console.settings.DeclaredSettings;
import io.thalamus.console.settings.Setting;
import io.thalamus.shell.bundles.Configurations;
import io.thalamus.shell.bundles.DeviceBundles;
import io.thalamus.shell.bundles.DeviceTracker;
import io.thalamus.shell.results.ConfigResult;
import io.thalamus.shell.session.Kept;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.service.cm.ConfigurationAdmin;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** {@code nn:config}: the settings of the bundles that are here. Thread-safe. */
@Component(
    service = Command.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=config"})
public final class ConfigCommand extends Command {
  private static final String RESET = "reset";
  private static final String AHEAD = "ahead";
  private static final String KEEP = "keep";

  private static final Syntax SYNTAX =
      Syntax.of(
              "nn:config",
              "[NAME | NAME=VALUE]...",
              """
              Shows settings, or changes them: nn:config simd, nn:config simd.threads=2.
              A setting that takes several values gets them by several NAME=VALUE. A device whose
              settings change leaves and comes back; other parts take them at once.\
              """)
          .flag(RESET, null, "back to the value that a setting has if nobody sets it")
          .flag(AHEAD, null, "also for a bundle that is not here yet; nothing is checked then")
          .flag(KEEP, null, "have each process begin with it")
          .offering(Candidates.of(Kind.SETTINGS));

  private final NeuralNetworks networks;
  private final Configurations configurations;
  private final Kept kept;
  private final BundleContext context;

  /** Called by the component runtime. */
  @Activate
  public ConfigCommand(
      @Reference NeuralNetworks networks,
      @Reference ConfigurationAdmin admin,
      @Reference Kept kept,
      BundleContext context) {
    super(SYNTAX);
    this.networks = networks;
    this.configurations = new Configurations(admin, context);
    this.kept = kept;
    this.context = context;
  }

  @Descriptor("the settings of what is here: show, change, reset")
  public Result config(
      CommandSession session, @Descriptor("[NAME | NAME=VALUE]... " + OPTIONS) String[] words) {
    return run(SYNTAX, session, words, this::config);
  }

  private Result config(Invocation invocation) throws Exception {
    DeclaredSettings declared = DeclaredSettings.of(context.getBundles());
    List<String> operands = invocation.arguments().operands();
    boolean isReset = invocation.arguments().has(RESET);
    if (!isReset && operands.stream().noneMatch(word -> word.contains("="))) {
      if (invocation.arguments().has(KEEP)) {
        throw invocation.usage("--keep keeps a NAME=VALUE, or a NAME with --reset");
      }
      return shown(named(declared, operands), invocation);
    }
    Map<Setting, List<String>> changes = changes(declared, operands, invocation);
    configurations.change(changes);
    for (Bundle bundle : context.getBundles()) {
      if (bundle.getState() == Bundle.ACTIVE
          && !DeviceBundles.devices(bundle).isEmpty()
          && DeclaredSettings.of(bundle).settings().stream().anyMatch(changes::containsKey)) {
        DeviceTracker.await(networks, bundle);
      }
    }
    if (invocation.arguments().has(KEEP)) {
      for (Map.Entry<Setting, List<String>> change : changes.entrySet()) {
        keep(change.getKey().name(), change.getValue());
      }
    }
    return shown(List.copyOf(changes.keySet()), invocation);
  }

  private Result shown(List<Setting> settings, Invocation invocation) throws Exception {
    List<ConfigResult.Row> rows = new ArrayList<>();
    for (Setting setting : settings) {
      rows.add(new ConfigResult.Row(setting, configurations.values(setting)));
    }
    return new ConfigResult(rows, invocation.arguments().operands().isEmpty(), invocation.style());
  }

  /** Returns the settings of these names, or whose names begin with them; all for no name. */
  private static List<Setting> named(DeclaredSettings declared, List<String> names) {
    if (names.isEmpty()) {
      return declared.settings();
    }
    List<Setting> settings = new ArrayList<>();
    for (String name : names) {
      List<Setting> found =
          declared.settings().stream()
              .filter(setting -> (setting.name() + ".").startsWith(name + "."))
              .toList();
      if (found.isEmpty()) {
        throw new CommandException(
            "there is no setting " + name + "; nn:config lists those of the bundles that are here");
      }
      settings.addAll(found);
    }
    return settings;
  }

  /** Returns the values that settings are to get; none for one that is to be reset. */
  private static Map<Setting, List<String>> changes(
      DeclaredSettings declared, List<String> operands, Invocation invocation) {
    boolean isReset = invocation.arguments().has(RESET);
    Map<Setting, List<String>> changes = new LinkedHashMap<>();
    for (String word : operands) {
      int equals = word.indexOf('=');
      if (isReset == equals >= 0) {
        throw invocation.usage(
            word + (isReset ? ": --reset wants a NAME" : ": expected NAME=VALUE, as all others"));
      }
      String name = isReset ? word : word.substring(0, equals);
      Setting setting = setting(declared, name, invocation);
      List<String> values = changes.computeIfAbsent(setting, key -> new ArrayList<>());
      if (isReset) {
        continue;
      }
      String value = word.substring(equals + 1);
      Optional<String> fault = setting.fault(value);
      if (fault.isPresent()) {
        throw invocation.usage(word + ": " + fault.get());
      }
      values.add(value);
      if (values.size() > 1 && !setting.isList()) {
        throw invocation.usage(name + " takes one value");
      }
    }
    if (changes.isEmpty()) {
      throw invocation.usage("--reset wants a NAME");
    }
    return changes;
  }

  private static Setting setting(DeclaredSettings declared, String name, Invocation invocation) {
    Optional<Setting> found =
        declared.settings().stream().filter(each -> each.name().equals(name)).findFirst();
    if (found.isPresent()) {
      return found.get();
    }
    if (invocation.arguments().has(AHEAD) && name.matches("[\\w.]+\\.\\w+")) {
      return Setting.unknown(name);
    }
    throw new CommandException(
        "there is no setting "
            + name
            + "; nn:config lists those of the bundles that are here, --ahead sets one of a bundle"
            + " to come");
  }

  private void keep(String name, List<String> values) {
    if (values.isEmpty()) {
      kept.reset(name);
      return;
    }
    List<String> words = new ArrayList<>(List.of("config", "--" + AHEAD));
    values.forEach(value -> words.add(name + "=" + value));
    kept.set(name, words);
  }
}
