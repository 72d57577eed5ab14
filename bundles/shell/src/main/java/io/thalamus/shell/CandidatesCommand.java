// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import io.thalamus.api.DeviceDescription;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.shell.bundles.DeviceBundles;
import io.thalamus.shell.failure.UnknownCommandException;
import io.thalamus.shell.model.KeptModel;
import io.thalamus.shell.model.Models;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/**
 * What the interactive shell's profile asks: the words that Tab offers for an argument, and what to
 * say of a command that there is not. The scope keeps both out of what Tab offers for a command.
 * Thread-safe.
 */
@Component(
    service = CandidatesCommand.class,
    property = {
      "osgi.command.scope=_nn",
      "osgi.command.function=candidates",
      "osgi.command.function=unknown"
    })
public final class CandidatesCommand {
  /** JLine's own command for the files that the word on the line may go on to. */
  private static final String FILES = "__files";

  /** What may stand behind an option, where it is one of a few words. */
  private static final Map<String, List<String>> WORDS =
      Map.of(
          "--priority", List.of("low", "medium", "high"),
          "--preference", List.of("fast-single-answer", "low-power", "sustained-speed"),
          "--fallback", List.of("allow", "warn", "deny"),
          "--mode", List.of("sync", "async", "fenced"),
          "--outputs", List.of("fully-specified", "unspecified", "insufficient"));

  private final NeuralNetworks networks;
  private final Models models;
  private final DeviceBundles bundles;

  /**
   * Called by the component runtime.
   *
   * @param networks knows the devices
   * @param models knows the loaded models
   * @param context tells where the distribution is
   */
  @Activate
  public CandidatesCommand(
      @Reference NeuralNetworks networks, @Reference Models models, BundleContext context) {
    this.networks = networks;
    this.models = models;
    this.bundles = new DeviceBundles(context);
  }

  /** The command. */
  @Descriptor("what Tab offers for a word on the line")
  public List<Object> candidates(
      CommandSession session,
      @Descriptor("the words of the line") List<?> words,
      @Descriptor("the index of the word to complete") int index)
      throws Exception {
    String before = words.get(index - 1).toString();
    if (index > 1 && before.startsWith("--")) {
      return behindOption(session, before);
    }
    String command = words.get(0).toString().replaceFirst("^nn:", "");
    List<Object> candidates = new ArrayList<>();
    switch (command) {
      case "unload" -> candidates.addAll(models());
      case "uninstall", "certify" -> candidates.addAll(devices());
      case "update" -> candidates.addAll(index == 1 ? devices() : files(session));
      case "install" -> {
        candidates.addAll(bundles.available());
        candidates.removeAll(devices());
        candidates.addAll(files(session));
      }
      case "cache" -> {
        candidates.addAll(index == 1 ? List.of("ls", "verify", "gc", "why") : models());
        candidates.addAll(index == 1 ? List.of() : files(session));
      }
      case "load", "verify" -> candidates.addAll(files(session));
      default -> {
        candidates.addAll(index == 1 ? models() : List.of());
        candidates.addAll(files(session));
      }
    }
    return candidates;
  }

  /**
   * The command.
   *
   * @throws UnknownCommandException always
   */
  @Descriptor("what is said of a command that there is not")
  public void unknown(CommandSession session, @Descriptor("its name") String name)
      throws UnknownCommandException {
    throw UnknownCommandException.of(session, name);
  }

  private List<Object> behindOption(CommandSession session, String option) throws Exception {
    return switch (option) {
      case "--device", "--vs" -> List.copyOf(devices());
      case "--policy", "--vs-policy" -> List.copyOf(networks.policies());
      case "--output", "--labels", "--svg", "--report", "--cache" -> List.copyOf(files(session));
      default -> List.copyOf(WORDS.getOrDefault(option, List.of()));
    };
  }

  private List<String> models() {
    return models.kept().stream().map(KeptModel::name).toList();
  }

  private List<String> devices() {
    return networks.devices().stream().map(DeviceDescription::id).distinct().toList();
  }

  private static Collection<?> files(CommandSession session) throws Exception {
    return session.execute(FILES) instanceof Collection<?> files ? files : List.of();
  }
}
