// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.chaos;

import io.thalamus.npu.NpuFaults;
import io.thalamus.npu.fault.FaultInjector;
import io.thalamus.npu.fault.FaultPlan;
import io.thalamus.npu.fault.FaultScriptException;
import java.io.IOException;
import java.nio.charset.MalformedInputException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.felix.service.command.CommandProcessor;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** {@code nn:chaos}: hurts the device of this bundle. Thread-safe. */
@Component(
    service = ChaosCommand.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=chaos"})
public final class ChaosCommand {
  static final String DEVICE = "npu";
  static final String USAGE =
      "nn:chaos DEVICE status|reset|script FILE|FAULT [CONDITION]... [--json]";

  private static final String HELP =
      """
      nn:chaos DEVICE status|reset|script FILE|FAULT [CONDITION]... [--json]
      Hurts a device, and counts what it bore. Each call adds a rule; reset heals.

        status                 the rules in force and what they have done
        reset                  no rules, no hung calls, no exhaustion
        script FILE            the rules of a file, one on each line
        latency 20ms           executions take longer
        hang [--for 2s]        the device stands still, until a reset where no time is given
        crash [STATUS]         executions fail: GENERAL_FAILURE or DEVICE_UNAVAILABLE
        wrong [BITS]           outputs with flipped bits
        exhaust [CALLS]        so many calls find no room; without a number all do, until a reset
        lose --for 500ms       the device goes and comes back

        --after N              so many executions pass first
        --every N              each so-many-th
        --rate R --seed S      a share of them, always the same for one seed
        --once                 one execution only
        --json                 the result as one JSON object on one line
        -h, --help             this text

      In a script the words stand without dashes: with seed 7 rate 0.01 wrong\
      """;

  private final FaultInjector injector;

  /**
   * Called by the component runtime.
   *
   * @param faults hurt the device
   * @param gogo is here, and so are its classes
   */
  @Activate
  public ChaosCommand(@Reference NpuFaults faults, @Reference CommandProcessor gogo) {
    this(faults.injector());
  }

  ChaosCommand(FaultInjector injector) {
    this.injector = injector;
  }

  /** The command. */
  @Descriptor("hurt a device (--with npu) by script and by seed, and count what it bore")
  public Object chaos(
      CommandSession session,
      @Descriptor(
              "DEVICE status|reset|script FILE|FAULT [--after N] [--every N] [--rate R] [--seed S]"
                  + " [--for TIME] [--once] [--json]; nn:chaos --help says more")
          String[] arguments)
      throws ChaosException {
    boolean json = Boolean.parseBoolean(String.valueOf(session.get("nn.json")));
    List<String> words = new ArrayList<>();
    for (String argument : arguments) {
      switch (argument) {
        case "--json" -> json = true;
        case "--help", "-h" -> {
          return HELP;
        }
        default -> words.add(argument);
      }
    }
    if (words.isEmpty()) {
      throw ChaosException.usage("which device?");
    }
    String device = words.removeFirst();
    if (!device.equals(DEVICE)) {
      throw ChaosException.failed(
          device + " cannot be hurt; of the devices here " + DEVICE + " can", null);
    }
    act(session, words);
    return new ChaosResult(DEVICE, injector.status(), json);
  }

  private void act(CommandSession session, List<String> words) throws ChaosException {
    switch (words.isEmpty() ? "status" : words.getFirst()) {
      case "status" -> requireLength(words, 1);
      case "reset" -> {
        requireLength(words, 1);
        injector.reset();
      }
      case "script" -> {
        requireLength(words, 2);
        if (words.size() < 2) {
          throw ChaosException.usage("which script?");
        }
        injector.add(read(session.currentDir(), words.get(1)));
      }
      default -> injector.add(rule(words));
    }
  }

  private static void requireLength(List<String> words, int atMost) throws ChaosException {
    if (words.size() > atMost) {
      throw ChaosException.usage(
          "what is \"" + words.get(atMost) + "\" behind " + words.getFirst() + "?");
    }
  }

  /** Options are the words of a script with dashes. */
  private static FaultPlan rule(List<String> words) throws ChaosException {
    List<String> plain = new ArrayList<>();
    for (String word : words) {
      if (word.startsWith("--")) {
        plain.addAll(List.of(word.substring(2).split("=", 2)));
      } else {
        plain.add(word);
      }
    }
    try {
      return FaultPlan.of(FaultPlan.rule(plain));
    } catch (FaultScriptException e) {
      throw ChaosException.usage(e.getMessage());
    }
  }

  private static FaultPlan read(Path directory, String name) throws ChaosException {
    try {
      Path file = directory == null ? Path.of(name) : directory.resolve(name);
      return FaultPlan.parse(Files.readString(file));
    } catch (FaultScriptException e) {
      throw ChaosException.failed(name + ", " + e.getMessage(), e);
    } catch (NoSuchFileException e) {
      throw ChaosException.failed("no such file: " + name, e);
    } catch (MalformedInputException e) {
      throw ChaosException.failed(name + " is no text: a script is lines of UTF-8", e);
    } catch (IOException | InvalidPathException e) {
      throw ChaosException.failed("cannot read " + name + ": " + e.getMessage(), e);
    }
  }
}
