// SPDX-License-Identifier: Apache-2.0
package io.thalamus.console;

import io.thalamus.console.text.Lines;
import io.thalamus.console.text.Style;
import io.thalamus.console.text.Table;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.MissingArgumentException;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;
import org.apache.commons.cli.UnrecognizedOptionException;

/**
 * The command line of one command: its operands and options, what they mean and what Tab offers for
 * them. Options are {@code --name VALUE} or {@code --name=VALUE}, anywhere; {@code --} ends them.
 * Every command has {@code --json} and {@code --help}. Built once, then only read: thread-safe from
 * then on.
 */
public final class Syntax {
  /** Options of the launcher, which no command knows and users give to commands. */
  private static final Set<String> OF_THE_START = Set.of("--storage", "--with", "--timing");

  private static final int LONGEST_USAGE = 100;

  /** A word of the operands, or some in brackets. */
  private static final Pattern OPERAND = Pattern.compile("\\[[^]]*]\\S*|\\S+");

  private final String command;
  private final String operands;
  private final String summary;
  private final int atLeast;
  private final int atMost;
  private final List<Option> options = new ArrayList<>();
  private List<Candidates> places = List.of();

  /**
   * An option.
   *
   * @param name the long name, without dashes
   * @param letter the short name; null for none
   * @param value what the help calls the value; null for none
   * @param isRepeated whether it may be given several times
   * @param candidates what Tab offers for the value
   */
  public record Option(
      String name,
      String letter,
      String value,
      boolean isRepeated,
      String description,
      Candidates candidates) {}

  private Syntax(String command, String operands, String summary, int atLeast, int atMost) {
    this.command = command;
    this.operands = operands;
    this.summary = summary;
    this.atLeast = atLeast;
    this.atMost = atMost;
  }

  /**
   * Returns the syntax of a command without options of its own. It takes an operand for each word
   * of its operands; those in brackets may be left out, and three dots allow any number.
   *
   * @param command as people type it, for example {@code nn:run}
   * @param operands what stands beside the options, for example {@code MODEL [INPUT...]}
   * @param summary one line
   */
  public static Syntax of(String command, String operands, String summary) {
    List<String> words = OPERAND.matcher(operands).results().map(MatchResult::group).toList();
    int atLeast = (int) words.stream().filter(word -> !word.startsWith("[")).count();
    int atMost = operands.contains("...") ? Integer.MAX_VALUE : words.size();
    return of(command, operands, summary, atLeast, atMost);
  }

  /** Returns the same where the operands are more or fewer than their words tell. */
  public static Syntax of(
      String command, String operands, String summary, int atLeast, int atMost) {
    return new Syntax(command, operands, summary, atLeast, atMost);
  }

  /** Says what Tab offers for each operand; the last entry counts for all further ones. */
  public Syntax offering(Candidates... operands) {
    places = List.of(operands);
    return this;
  }

  /** Adds an option that has a value, at most once on a line. */
  public Syntax option(String name, String value, String description) {
    return option(name, value, description, Candidates.NONE);
  }

  /** Adds an option that has a value, at most once on a line, for which Tab offers something. */
  public Syntax option(String name, String value, String description, Candidates candidates) {
    options.add(new Option(name, null, value, false, description, candidates));
    return this;
  }

  /** Adds an option whose value is one of an enum's constants: see {@link Arguments#choice}. */
  public Syntax choice(
      String name, String value, String description, Class<? extends Enum<?>> type) {
    return option(name, value, description, Candidates.constants(type));
  }

  /** Adds an option that has a value, any number of times on a line. */
  public Syntax repeated(String name, String value, String description, Candidates candidates) {
    options.add(new Option(name, null, value, true, description, candidates));
    return this;
  }

  /** Adds an option without a value. */
  public Syntax flag(String name, String letter, String description) {
    options.add(new Option(name, letter, null, false, description, Candidates.NONE));
    return this;
  }

  /** Returns the command as people type it, for example {@code nn:run}. */
  public String command() {
    return command;
  }

  /** Returns the operands as the help writes them. */
  public String operands() {
    return operands;
  }

  /** Returns all options, {@code --json} and {@code --help} included. */
  public List<Option> options() {
    List<Option> all = new ArrayList<>(options);
    all.add(
        new Option(
            "json",
            null,
            null,
            false,
            "the result as one JSON object on one line",
            Candidates.NONE));
    all.add(new Option("help", "h", null, false, "this text", Candidates.NONE));
    return all;
  }

  /**
   * Returns what Tab offers for a word of the line.
   *
   * @param before the words between the command and this word
   */
  public Candidates candidates(List<String> before) {
    int operand = 0;
    boolean isValue = false;
    for (int i = 0; i < before.size(); i++) {
      String word = before.get(i);
      Optional<Option> named =
          options().stream()
              .filter(option -> word.equals("--" + option.name()))
              .filter(option -> option.value() != null)
              .findFirst();
      if (!isValue && named.isPresent() && i == before.size() - 1) {
        return named.get().candidates();
      }
      operand += isValue || word.startsWith("-") ? 0 : 1;
      isValue = !isValue && named.isPresent();
    }
    return places.isEmpty() ? Candidates.NONE : places.get(Math.min(operand, places.size() - 1));
  }

  /**
   * Parses a command line.
   *
   * @throws CommandException where it does not fit
   */
  public Arguments parse(String... words) {
    Options known = new Options();
    for (Option option : options()) {
      known.addOption(
          org.apache.commons.cli.Option.builder(option.letter())
              .longOpt(option.name())
              .hasArg(option.value() != null)
              .get());
    }
    CommandLine line;
    try {
      line =
          DefaultParser.builder()
              .setAllowPartialMatching(false)
              .setStripLeadingAndTrailingQuotes(false)
              .get()
              .parse(known, words);
    } catch (UnrecognizedOptionException e) {
      String place =
          OF_THE_START.contains(e.getOption()) ? ", which ./thalamus takes before the command" : "";
      throw usage("unknown option " + e.getOption() + place);
    } catch (MissingArgumentException e) {
      String name = e.getOption().getLongOpt();
      Option option =
          options.stream()
              .filter(declared -> declared.name().equals(name))
              .findFirst()
              .orElseThrow();
      throw usage("--" + name + " needs a value, " + option.value());
    } catch (ParseException e) {
      throw usage(e.getMessage());
    }
    Arguments arguments = new Arguments(this, line);
    if (arguments.has("help")) {
      return arguments;
    }
    for (Option option : options) {
      int times = arguments.texts(option.name()).size();
      if (!option.isRepeated() && times > 1) {
        throw usage("--" + option.name() + " is given " + times + " times");
      }
    }
    int count = arguments.operands().size();
    if (count < atLeast || count > atMost) {
      throw usage(count < atLeast ? "too few arguments" : "too many arguments");
    }
    return arguments;
  }

  /** Returns a failure that says what is wrong and how the command is written. */
  public CommandException usage(String problem) {
    String usage = line();
    if (usage.length() > LONGEST_USAGE) {
      usage = (command + " " + operands).strip() + " [OPTION...]; " + command + " --help says more";
    }
    return CommandException.usage(command + ": " + problem + "; usage: " + usage);
  }

  /** Returns the whole usage in one line. */
  public String line() {
    StringBuilder line = new StringBuilder(command);
    if (!operands.isEmpty()) {
      line.append(' ').append(operands);
    }
    for (Option option : options) {
      line.append(" [")
          .append(option.letter() == null ? "--" + option.name() : "-" + option.letter());
      if (option.value() != null) {
        line.append(' ').append(option.value());
      }
      line.append(option.isRepeated() ? "]..." : "]");
    }
    return line.append(" [--json]").toString();
  }

  /** Returns the text of {@code --help}. */
  public String help(Style style) {
    Table table = new Table(style, "", "").indent(2);
    for (Option option : options()) {
      table.row(
          (option.letter() == null ? "" : "-" + option.letter() + ", ")
              + "--"
              + option.name()
              + (option.value() == null ? "" : " " + option.value()),
          option.description());
    }
    Lines lines = new Lines().add(style.bold(command) + (operands.isEmpty() ? "" : " " + operands));
    summary.lines().forEach(line -> lines.add(wrapped(line, style)));
    return lines.gap().add(table.text()).toString();
  }

  private static String wrapped(String line, Style style) {
    return line.length() <= style.width() ? line : new Table(style, "").row(line).text();
  }
}
