// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.arguments;

import io.thalamus.shell.failure.UsageException;
import io.thalamus.shell.format.Lines;
import io.thalamus.shell.format.Style;
import io.thalamus.shell.format.Table;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.MissingArgumentException;
import org.apache.commons.cli.Option;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;
import org.apache.commons.cli.UnrecognizedOptionException;

/**
 * What may stand on the command line of one command. Options are {@code --name VALUE} or {@code
 * --name=VALUE}, anywhere; {@code --} ends them. Every command has {@code --json} and {@code
 * --help}. Built once, then only read: thread-safe from then on.
 */
public final class Syntax {
  private static final int LONGEST_USAGE = 100;

  private final String command;
  private final String operands;
  private final String summary;
  private final int atLeast;
  private final int atMost;
  private final List<Entry> entries = new ArrayList<>();

  private record Entry(
      String name, String letter, String value, boolean repeated, String description) {}

  private Syntax(String command, String operands, String summary, int atLeast, int atMost) {
    this.command = command;
    this.operands = operands;
    this.summary = summary;
    this.atLeast = atLeast;
    this.atMost = atMost;
  }

  /**
   * A command with this many arguments beside its options.
   *
   * @param command as people type it, for example {@code nn:run}
   * @param operands what stands beside the options, for example {@code MODEL [INPUT...]}
   * @param summary one line
   */
  public static Syntax of(
      String command, String operands, String summary, int atLeast, int atMost) {
    return new Syntax(command, operands, summary, atLeast, atMost);
  }

  /** Adds an option that has a value, at most once on a line. */
  public Syntax option(String name, String value, String description) {
    entries.add(new Entry(name, null, value, false, description));
    return this;
  }

  /** Adds an option that has a value, any number of times on a line. */
  public Syntax repeated(String name, String value, String description) {
    entries.add(new Entry(name, null, value, true, description));
    return this;
  }

  /** Adds an option without a value. */
  public Syntax flag(String name, String letter, String description) {
    entries.add(new Entry(name, letter, null, false, description));
    return this;
  }

  /** As people type it, for example {@code nn:run}. */
  public String command() {
    return command;
  }

  /** The long names of all options, without dashes. */
  public Set<String> names() {
    return all().stream().map(Entry::name).collect(Collectors.toCollection(TreeSet::new));
  }

  /**
   * Takes a command line apart.
   *
   * @throws UsageException where it does not fit
   */
  public Arguments parse(String... words) throws UsageException {
    Options options = new Options();
    for (Entry entry : all()) {
      options.addOption(
          Option.builder(entry.letter()).longOpt(entry.name()).hasArg(entry.value() != null).get());
    }
    CommandLine line;
    try {
      line =
          DefaultParser.builder()
              .setAllowPartialMatching(false)
              .setStripLeadingAndTrailingQuotes(false)
              .get()
              .parse(options, words);
    } catch (UnrecognizedOptionException e) {
      throw usage("unknown option " + e.getOption());
    } catch (MissingArgumentException e) {
      Entry entry = entry(e.getOption().getLongOpt());
      throw usage("--" + entry.name() + " needs a " + entry.value());
    } catch (ParseException e) {
      throw usage(e.getMessage());
    }
    Arguments arguments = new Arguments(this, line);
    if (arguments.has("help")) {
      return arguments;
    }
    for (Entry entry : entries) {
      String[] values = line.getOptionValues(entry.name());
      if (!entry.repeated() && values != null && values.length > 1) {
        throw usage("--" + entry.name() + " is given " + values.length + " times");
      }
    }
    int count = arguments.operands().size();
    if (count < atLeast || count > atMost) {
      throw usage(count < atLeast ? "too few arguments" : "too many arguments");
    }
    return arguments;
  }

  /** An exception with what is wrong and how the command is written. */
  public UsageException usage(String problem) {
    String usage = line();
    if (usage.length() > LONGEST_USAGE) {
      usage = (command + " " + operands).strip() + " [OPTION...]; " + command + " --help says more";
    }
    return new UsageException(command + ": " + problem + "; usage: " + usage);
  }

  /** The whole usage in one line. */
  public String line() {
    StringBuilder line = new StringBuilder(command);
    if (!operands.isEmpty()) {
      line.append(' ').append(operands);
    }
    for (Entry entry : entries) {
      line.append(" [").append(entry.letter() == null ? "--" + entry.name() : "-" + entry.letter());
      if (entry.value() != null) {
        line.append(' ').append(entry.value());
      }
      line.append(entry.repeated() ? "]..." : "]");
    }
    return line.append(" [--json]").toString();
  }

  /** What {@code --help} prints. */
  public String help(Style style) {
    Table table = new Table(style, "", "").indent(2);
    for (Entry entry : all()) {
      table.row(
          (entry.letter() == null ? "" : "-" + entry.letter() + ", ")
              + "--"
              + entry.name()
              + (entry.value() == null ? "" : " " + entry.value()),
          entry.description());
    }
    return new Lines()
        .add(style.bold(command) + (operands.isEmpty() ? "" : " " + operands))
        .add(summary)
        .gap()
        .add(table.text())
        .toString();
  }

  private List<Entry> all() {
    List<Entry> all = new ArrayList<>(entries);
    all.add(new Entry("json", null, null, false, "the result as one JSON object on one line"));
    all.add(new Entry("help", "h", null, false, "this text"));
    return all;
  }

  private Entry entry(String name) {
    return all().stream().filter(entry -> entry.name().equals(name)).findFirst().orElseThrow();
  }
}
