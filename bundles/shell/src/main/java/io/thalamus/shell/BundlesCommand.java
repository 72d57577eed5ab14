// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import io.thalamus.api.Compilation;
import io.thalamus.api.DeviceDescription;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.shell.arguments.Arguments;
import io.thalamus.shell.arguments.Syntax;
import io.thalamus.shell.bundles.Arrivals;
import io.thalamus.shell.bundles.DeviceBundles;
import io.thalamus.shell.failure.CommandException;
import io.thalamus.shell.failure.UsageException;
import io.thalamus.shell.format.Result;
import io.thalamus.shell.model.Models;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** {@code nn:install}, {@code nn:update} and {@code nn:uninstall}: devices that come and go. */
@Component(
    service = BundlesCommand.class,
    property = {
      "osgi.command.scope=nn",
      "osgi.command.function=install",
      "osgi.command.function=update",
      "osgi.command.function=uninstall"
    })
public final class BundlesCommand {
  static final Syntax INSTALL =
      Syntax.of(
          "nn:install",
          "NAME_OR_FILE",
          "Installs and starts a device bundle: one of the distribution by its short name, or a"
              + " file. Live compilations are planned anew where the device suits them better.",
          1,
          1);

  static final Syntax UPDATE =
      Syntax.of(
          "nn:update",
          "DEVICE [FILE]",
          "Replaces a device bundle by its file as that is now, or by FILE.",
          1,
          2);

  static final Syntax UNINSTALL =
      Syntax.of(
          "nn:uninstall",
          "DEVICE",
          "Removes a device bundle. Running requests finish, or are repeated on what is left.",
          1,
          1);

  /** Compiling a large model again can take longer; then it goes on in the background. */
  private static final long REPLAN_MILLIS = 5_000;

  private static final long PAUSE_MILLIS = 10;

  private final NeuralNetworks networks;
  private final Models models;
  private final DeviceBundles bundles;

  /**
   * Called by the component runtime.
   *
   * @param networks knows which devices serve
   * @param models knows the loaded models
   * @param context of this bundle
   */
  @Activate
  public BundlesCommand(
      @Reference NeuralNetworks networks, @Reference Models models, BundleContext context) {
    this.networks = networks;
    this.models = models;
    this.bundles = new DeviceBundles(context);
  }

  /** The command. */
  @Descriptor("install and start a device bundle, by its short name or out of a file")
  public Result install(
      CommandSession session,
      @Descriptor("NAME_OR_FILE [--json]; nn:install --help says more") String[] arguments)
      throws UsageException, CommandException {
    return change(
        session,
        INSTALL,
        arguments,
        (parsed, invocation) -> {
          String word = parsed.operands().getFirst();
          Bundle bundle = bundles.install(word, invocation.path(word));
          return new Change("installed", bundle.getSymbolicName(), bundle);
        });
  }

  /** The command. */
  @Descriptor("replace a device bundle by its file as that is now, or by another one")
  public Result update(
      CommandSession session,
      @Descriptor("DEVICE [FILE] [--json]; nn:update --help says more") String[] arguments)
      throws UsageException, CommandException {
    return change(
        session,
        UPDATE,
        arguments,
        (parsed, invocation) -> {
          Optional<Path> file =
              parsed.operands().size() > 1
                  ? Optional.of(invocation.path(parsed.operands().get(1)))
                  : Optional.empty();
          Bundle bundle = bundles.update(parsed.operands().getFirst(), file);
          return new Change("updated", bundle.getSymbolicName(), bundle);
        });
  }

  /** The command. */
  @Descriptor("remove a device bundle")
  public Result uninstall(
      CommandSession session,
      @Descriptor("DEVICE [--json]; nn:uninstall --help says more") String[] arguments)
      throws UsageException, CommandException {
    return change(
        session,
        UNINSTALL,
        arguments,
        (parsed, invocation) ->
            new Change("uninstalled", bundles.uninstall(parsed.operands().getFirst()), null));
  }

  /** What was done to a bundle; the bundle where it is still there. */
  private record Change(String what, String name, Bundle bundle) {}

  /** Does something to a bundle. */
  @FunctionalInterface
  private interface Action {
    Change run(Arguments arguments, Invocation invocation)
        throws CommandException, InterruptedException;
  }

  private Result change(CommandSession session, Syntax syntax, String[] words, Action action)
      throws UsageException, CommandException {
    Arguments parsed = syntax.parse(words);
    Invocation invocation = Invocation.of(session);
    if (parsed.has("help")) {
      return new Help(syntax, invocation.style(parsed));
    }
    try {
      Map<String, List<Map<String, Integer>>> before = placements();
      long start = System.nanoTime();
      Change change = action.run(parsed, invocation);
      String version = "";
      if (change.bundle() != null) {
        version = change.bundle().getVersion().toString();
        Arrivals.await(networks, change.bundle());
      }
      Duration duration = Duration.ofNanos(System.nanoTime() - start);
      awaitPlans();
      return new BundleResult(
          change.what(),
          change.name(),
          version,
          serving(),
          moves(before),
          duration,
          invocation.style(parsed));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new CommandException("interrupted", e);
    }
  }

  /** So that the next command finds the plans that this one led to. */
  private void awaitPlans() throws InterruptedException {
    long end = System.nanoTime() + REPLAN_MILLIS * 1_000_000;
    while (System.nanoTime() - end < 0
        && models.kept().stream()
            .flatMap(model -> model.compilations().stream())
            .anyMatch(Compilation::isReplanning)) {
      Thread.sleep(PAUSE_MILLIS);
    }
  }

  private Map<String, List<Map<String, Integer>>> placements() {
    Map<String, List<Map<String, Integer>>> placements = new LinkedHashMap<>();
    models.kept().forEach(model -> placements.put(model.name(), model.placements()));
    return placements;
  }

  private List<BundleResult.Move> moves(Map<String, List<Map<String, Integer>>> before) {
    List<BundleResult.Move> moves = new ArrayList<>();
    placements()
        .forEach(
            (model, now) -> {
              List<Map<String, Integer>> then = before.getOrDefault(model, List.of());
              for (int i = 0; i < Math.min(then.size(), now.size()); i++) {
                BundleResult.Move move = new BundleResult.Move(model, then.get(i), now.get(i));
                if (!move.from().equals(move.to()) && !moves.contains(move)) {
                  moves.add(move);
                }
              }
            });
    return moves;
  }

  private List<String> serving() {
    return networks.devices().stream()
        .filter(device -> device.state() == DeviceDescription.State.AVAILABLE)
        .map(DeviceDescription::id)
        .toList();
  }
}
