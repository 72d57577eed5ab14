// SPDX-License-Identifier: Apache-2.0
package io.thalamus.chaos.command;

import io.thalamus.chaos.FaultInjector;
import io.thalamus.chaos.FaultPlan;
import io.thalamus.chaos.FaultScriptException;
import io.thalamus.chaos.FaultStatus;
import io.thalamus.chaos.service.Injectors;
import io.thalamus.console.Candidates;
import io.thalamus.console.Candidates.Kind;
import io.thalamus.console.Command;
import io.thalamus.console.CommandException;
import io.thalamus.console.Invocation;
import io.thalamus.console.Reasons;
import io.thalamus.console.Result;
import io.thalamus.console.Syntax;
import java.io.IOException;
import java.nio.charset.MalformedInputException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.osgi.framework.BundleException;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** {@code nn:chaos}: injects faults into a device. Thread-safe. */
@Component(
    service = Command.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=chaos"})
public final class ChaosCommand extends Command {
  private static final Syntax SYNTAX =
      Syntax.of(
              "nn:chaos",
              "DEVICE status|reset|script FILE|FAULT",
              """
              Injects faults into a device, and counts them. Each call adds a rule.
              The first call but status makes the device leave and come back once.

                status            the rules in force and what they have done
                reset             no rules, no hung calls, no exhaustion
                script FILE       the rules of a file, one on each line, without dashes:
                                  with seed 7 rate 0.01 wrong
                latency 20ms      executions take longer
                hang              the device stands still until a reset, or for a time
                crash [STATUS]    executions fail: GENERAL_FAILURE or DEVICE_UNAVAILABLE
                wrong [BITS]      outputs with flipped bits
                exhaust [CALLS]   so many calls find no room; without a number all, until a reset
                lose --for 500ms  the device leaves and comes back\
              """,
              1,
              Integer.MAX_VALUE)
          .option("after", "N", "so many executions pass first")
          .option("every", "N", "each so-many-th execution")
          .option("rate", "R", "a share of the executions, above 0 and up to 1")
          .option("seed", "S", "chooses the executions, and the bits of wrong answers")
          .option("for", "TIME", "how long it hangs or is away")
          .flag("once", null, "one execution only")
          .offering(
              Candidates.of(Kind.DEVICES),
              new Candidates(
                  List.of(Kind.FILES),
                  List.of(
                      "status", "reset", "script", "latency", "hang", "crash", "wrong", "exhaust",
                      "lose")));

  private static final List<String> CONDITIONS = List.of("after", "every", "rate", "seed", "for");

  private final Injectors injectors;

  /**
   * Called by the component runtime.
   *
   * @param injectors of the devices that are here
   */
  @Activate
  public ChaosCommand(@Reference Injectors injectors) {
    super(SYNTAX);
    this.injectors = injectors;
  }

  /** Runs {@code nn:chaos}. */
  @Descriptor("inject faults into a device, by script and by seed, and count them")
  public Result chaos(
      CommandSession session,
      @Descriptor("DEVICE status|reset|script FILE|FAULT" + OPTIONS) String[] words) {
    return run(SYNTAX, session, words, this::chaos);
  }

  private Result chaos(Invocation invocation) {
    List<String> words = new ArrayList<>(invocation.arguments().operands());
    String device = words.removeFirst();
    FaultStatus status =
        switch (words.isEmpty() ? "status" : words.getFirst()) {
          case "status" -> {
            requireLength(invocation, words, 1);
            yield status(device);
          }
          case "reset" -> {
            requireLength(invocation, words, 1);
            FaultInjector injector = injector(device);
            injector.reset();
            yield injector.status();
          }
          case "script" -> {
            requireLength(invocation, words, 2);
            if (words.size() < 2) {
              throw invocation.usage("which script?");
            }
            yield add(device, read(invocation, words.get(1)));
          }
          default -> add(device, rule(invocation, words));
        };
    return ChaosResult.of(invocation.style(), device, status);
  }

  private FaultStatus status(String device) {
    if (injectors.find(device).isPresent()) {
      return injectors.find(device).get().status();
    }
    if (!injectors.devices().contains(device)) {
      throw missing(device);
    }
    return FaultStatus.NONE;
  }

  private CommandException missing(String device) {
    return CommandException.missing("no device " + device, injectors.devices());
  }

  private FaultStatus add(String device, FaultPlan plan) {
    FaultInjector injector = injector(device);
    injector.add(plan);
    return injector.status();
  }

  private FaultInjector injector(String device) {
    try {
      return injectors.takeOver(device);
    } catch (NoSuchElementException e) {
      throw missing(device);
    } catch (BundleException e) {
      throw new CommandException(e.getMessage(), e);
    }
  }

  private static void requireLength(Invocation invocation, List<String> words, int atMost) {
    if (words.size() > atMost) {
      throw invocation.usage(
          "what is \"" + words.get(atMost) + "\" behind " + words.getFirst() + "?");
    }
  }

  /** Options are the words of a script with dashes. */
  private static FaultPlan rule(Invocation invocation, List<String> words) {
    List<String> all = new ArrayList<>(words);
    for (String name : CONDITIONS) {
      invocation.arguments().text(name).ifPresent(value -> all.addAll(List.of(name, value)));
    }
    if (invocation.arguments().has("once")) {
      all.add("once");
    }
    try {
      return FaultPlan.of(FaultPlan.rule(all));
    } catch (FaultScriptException e) {
      throw invocation.usage(e.getMessage());
    }
  }

  private static FaultPlan read(Invocation invocation, String name) {
    try {
      return FaultPlan.parse(Files.readString(invocation.path(name)));
    } catch (FaultScriptException e) {
      throw new CommandException(name + ", " + e.getMessage(), e);
    } catch (NoSuchFileException e) {
      throw new CommandException("no such file: " + name, e);
    } catch (MalformedInputException e) {
      throw new CommandException(name + " is no text: a script is lines of UTF-8", e);
    } catch (IOException e) {
      throw new CommandException("cannot read " + name + ": " + Reasons.of(e), e);
    }
  }
}
