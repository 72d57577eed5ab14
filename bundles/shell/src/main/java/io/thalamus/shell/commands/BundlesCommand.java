// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import io.thalamus.api.Compilation;
import io.thalamus.api.DeviceDescription;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.console.Candidates;
import io.thalamus.console.Candidates.Kind;
import io.thalamus.console.Command;
import io.thalamus.console.Invocation;
import io.thalamus.console.Result;
import io.thalamus.console.Syntax;
import io.thalamus.shell.bundles.DeviceBundles;
import io.thalamus.shell.bundles.DeviceTracker;
import io.thalamus.shell.model.Models;
import io.thalamus.shell.results.BundleResult;
import io.thalamus.shell.session.Kept;
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
    service = Command.class,
    property = {
      "osgi.command.scope=nn",
      "osgi.command.function=install",
      "osgi.command.function=update",
      "osgi.command.function=uninstall"
    })
public final class BundlesCommand extends Command {
  private static final String KEEP = "keep";
  private static final String ISOLATED = "isolated";

  private static final Syntax INSTALL =
      Syntax.of(
              "nn:install",
              "NAME_OR_FILE",
              "Installs and starts a device bundle: one of the distribution by its short name, or a"
                  + " file. Live compilations are planned anew where the device suits them better.")
          .flag(
              ISOLATED,
              null,
              "in a process of its own, whose end costs nothing but requests repeated")
          .flag(KEEP, null, "have each process do so when it begins")
          .offering(Candidates.of(Kind.INSTALLABLE, Kind.FILES));

  private static final Syntax UPDATE =
      Syntax.of(
              "nn:update",
              "DEVICE [FILE]",
              "Replaces a device bundle by its file as that is now, or by FILE.")
          .offering(Candidates.of(Kind.DEVICES), Inputs.FILE)
          .flag(KEEP, null, "have each process do so when it begins, with this FILE");

  private static final Syntax UNINSTALL =
      Syntax.of(
              "nn:uninstall",
              "DEVICE",
              "Removes a device bundle. Running requests finish, or are repeated on what is left.")
          .offering(Candidates.of(Kind.DEVICES))
          .flag(KEEP, null, "have each process begin without it");

  /** Compiling a large model again can take longer; then it goes on in the background. */
  private static final long REPLAN_MILLIS = 5_000;

  private static final long PAUSE_MILLIS = 10;

  private final NeuralNetworks networks;
  private final Models models;
  private final DeviceBundles bundles;
  private final Kept kept;

  /** Called by the component runtime. */
  @Activate
  public BundlesCommand(
      @Reference NeuralNetworks networks,
      @Reference Models models,
      @Reference Kept kept,
      BundleContext context) {
    super(INSTALL, UPDATE, UNINSTALL);
    this.networks = networks;
    this.models = models;
    this.kept = kept;
    this.bundles = new DeviceBundles(context);
  }

  @Descriptor("install and start a device bundle, by its short name or out of a file")
  public Result install(
      CommandSession session, @Descriptor("NAME_OR_FILE " + OPTIONS) String[] words) {
    return change(
        INSTALL,
        session,
        words,
        invocation -> {
          String word = invocation.operand();
          Path file = invocation.path(word);
          boolean isIsolated = invocation.arguments().has(ISOLATED);
          Bundle bundle = bundles.install(word, file, isIsolated);
          String name = bundle.getSymbolicName();
          if (invocation.arguments().has(KEEP)) {
            boolean isNamed = bundles.available().contains(word);
            List<String> again = new ArrayList<>(List.of(isNamed ? word : file.toString()));
            if (isIsolated) {
              again.add("--" + ISOLATED);
            }
            kept.install(name, isNamed && !isIsolated, again);
          }
          return new Change("installed", name, Optional.of(bundle));
        });
  }

  @Descriptor("replace a device bundle by its file as that is now, or by another one")
  public Result update(
      CommandSession session, @Descriptor("DEVICE [FILE] " + OPTIONS) String[] words) {
    return change(
        UPDATE,
        session,
        words,
        invocation -> {
          List<String> operands = invocation.arguments().operands();
          Optional<Path> file =
              operands.size() > 1
                  ? Optional.of(invocation.path(operands.get(1)))
                  : Optional.empty();
          boolean isKept = invocation.arguments().has(KEEP);
          if (isKept && file.isEmpty()) {
            throw invocation.usage("--keep keeps a FILE");
          }
          Bundle bundle = bundles.update(operands.getFirst(), file);
          if (isKept) {
            kept.update(bundle.getSymbolicName(), file.get());
          }
          return new Change("updated", bundle.getSymbolicName(), Optional.of(bundle));
        });
  }

  @Descriptor("remove a device bundle")
  public Result uninstall(CommandSession session, @Descriptor("DEVICE " + OPTIONS) String[] words) {
    return change(
        UNINSTALL,
        session,
        words,
        invocation -> {
          String name = bundles.uninstall(invocation.operand());
          if (invocation.arguments().has(KEEP)) {
            kept.uninstall(name);
          }
          return new Change("uninstalled", name, Optional.empty());
        });
  }

  /** A change that was made; with the bundle, unless it is gone. */
  private record Change(String done, String name, Optional<Bundle> bundle) {}

  /** A change to a bundle. */
  @FunctionalInterface
  private interface Changing {
    Change run(Invocation invocation) throws InterruptedException;
  }

  private Result change(Syntax syntax, CommandSession session, String[] words, Changing changing) {
    return run(syntax, session, words, invocation -> change(invocation, changing));
  }

  private Result change(Invocation invocation, Changing changing) throws InterruptedException {
    Map<String, List<Map<String, Integer>>> before = placements();
    long start = System.nanoTime();
    Change change = changing.run(invocation);
    if (change.bundle().isPresent()) {
      DeviceTracker.await(networks, change.bundle().get());
    }
    Duration duration = Duration.ofNanos(System.nanoTime() - start);
    awaitPlans();
    return new BundleResult(
        change.done(),
        change.name(),
        change.bundle().map(bundle -> bundle.getVersion().toString()).orElse(""),
        serving(),
        moves(before),
        duration,
        invocation.style());
  }

  /** Waits for the plans that this command led to, so that the next command finds them. */
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
