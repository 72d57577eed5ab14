// SPDX-License-Identifier: Apache-2.0
package io.thalamus.chaos;

import io.thalamus.model.ErrorStatus;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/** Reads one rule: conditions and a fault, in any order. Used once, by one thread. */
final class FaultRuleParser {
  private static final String FAULTS = "latency TIME, hang, crash, wrong, exhaust, lose for TIME";
  private static final String CONDITIONS = "after N executions, every N, rate R, seed S, once";

  private final List<String> words;
  private int next;

  private Fault.Kind kind;
  private Duration time;
  private ErrorStatus status = ErrorStatus.GENERAL_FAILURE;
  private OptionalInt number = OptionalInt.empty();
  private long after;
  private long every;
  private double rate;
  private Optional<Long> seed = Optional.empty();
  private boolean once;

  FaultRuleParser(List<String> words) {
    this.words = words;
  }

  FaultRule parse() throws FaultScriptException {
    while (next < words.size()) {
      word(words.get(next++));
    }
    if (kind == null) {
      throw new FaultScriptException("there is no fault; write one of " + FAULTS);
    }
    Fault fault = fault();
    boolean striking =
        switch (fault.kind()) {
          case LATENCY, CRASH, WRONG -> true;
          case HANG, EXHAUST, LOSE -> false;
        };
    boolean again = every > 0 || rate > 0 || striking;
    return new FaultRule(
        new Trigger(
            after, every == 0 ? 1 : every, rate == 0 ? 1 : rate, seed.orElse(0L), once || !again),
        fault);
  }

  private void word(String word) throws FaultScriptException {
    switch (word) {
      case "with", "executions", "execution", "bits", "bit", "calls", "times" -> {
        // only for the reader
      }
      case "after" -> after = count(word, 0);
      case "every" -> every = count(word, 1);
      case "rate" -> rate = share();
      case "seed" -> seed = Optional.of(wholeNumber(word, argument(word, "a whole number")));
      case "once" -> once = true;
      case "for" -> time = duration(word);
      case "latency" -> {
        kind(Fault.Kind.LATENCY);
        time = duration(word);
      }
      case "hang" -> kind(Fault.Kind.HANG);
      case "crash" -> {
        kind(Fault.Kind.CRASH);
        if (next < words.size() && words.get(next).matches("[A-Z_]+")) {
          status = status(words.get(next++));
        }
      }
      case "wrong" -> {
        kind(Fault.Kind.WRONG);
        number = optionalCount(word);
      }
      case "exhaust" -> {
        kind(Fault.Kind.EXHAUST);
        number = optionalCount(word);
      }
      case "lose" -> kind(Fault.Kind.LOSE);
      default ->
          throw new FaultScriptException(
              "what is \"" + word + "\"? faults: " + FAULTS + "; conditions: " + CONDITIONS);
    }
  }

  private void kind(Fault.Kind value) throws FaultScriptException {
    if (kind != null) {
      throw new FaultScriptException(
          "there are two faults; write each on a line, or in a command, of its own");
    }
    kind = value;
  }

  private Fault fault() throws FaultScriptException {
    if (time != null
        && kind != Fault.Kind.LATENCY
        && kind != Fault.Kind.HANG
        && kind != Fault.Kind.LOSE) {
      throw new FaultScriptException("only latency, hang and lose last for a time");
    }
    return switch (kind) {
      case LATENCY -> new Fault.Latency(time);
      case HANG -> new Fault.Hang(Optional.ofNullable(time));
      case CRASH -> new Fault.Crash(status);
      case WRONG -> new Fault.Wrong(number.orElse(1));
      case EXHAUST -> new Fault.Exhaust(number);
      case LOSE -> {
        if (time == null) {
          throw new FaultScriptException("for how long? write: lose for 500ms");
        }
        yield new Fault.Lose(time);
      }
    };
  }

  private String argument(String word, String wanted) throws FaultScriptException {
    if (next == words.size()) {
      throw new FaultScriptException(word + " needs " + wanted);
    }
    return words.get(next++);
  }

  private long count(String word, long least) throws FaultScriptException {
    long value = wholeNumber(word, argument(word, "a number of executions"));
    if (value < least) {
      throw new FaultScriptException(word + " " + value + ": give " + least + " or more");
    }
    return value;
  }

  private OptionalInt optionalCount(String word) throws FaultScriptException {
    if (next == words.size() || !words.get(next).matches("-?\\d+")) {
      return OptionalInt.empty();
    }
    long value = wholeNumber(word, words.get(next++));
    if (value < 1 || value > Integer.MAX_VALUE) {
      throw new FaultScriptException(
          word + " " + value + ": give a number from 1 to " + Integer.MAX_VALUE);
    }
    return OptionalInt.of((int) value);
  }

  private static long wholeNumber(String word, String text) throws FaultScriptException {
    try {
      return Long.parseLong(text);
    } catch (NumberFormatException e) {
      throw new FaultScriptException(word + " " + text + ": that is not a whole number");
    }
  }

  private double share() throws FaultScriptException {
    String text = argument("rate", "a share of the executions, such as 0.01");
    try {
      double value = Double.parseDouble(text);
      if (value > 0 && value <= 1) {
        return value;
      }
    } catch (NumberFormatException e) {
      // said below, as for a number out of range
    }
    throw new FaultScriptException("rate " + text + ": give a number above 0, and 1 at most");
  }

  /** One word, or a number and its unit. */
  private Duration duration(String word) throws FaultScriptException {
    String text = argument(word, "a time, such as 20ms");
    if (text.matches("\\d+") && next < words.size() && words.get(next).matches("us|ms|s")) {
      text += words.get(next++);
    }
    Optional<Duration> duration = Durations.parse(text);
    if (duration.isEmpty() || duration.get().isZero()) {
      throw new FaultScriptException(word + " " + text + ": write a time as 50us, 20ms or 2s");
    }
    return duration.get();
  }

  private static ErrorStatus status(String text) throws FaultScriptException {
    return switch (text) {
      case "GENERAL_FAILURE" -> ErrorStatus.GENERAL_FAILURE;
      case "DEVICE_UNAVAILABLE" -> ErrorStatus.DEVICE_UNAVAILABLE;
      default ->
          throw new FaultScriptException(
              "crash " + text + ": write GENERAL_FAILURE or DEVICE_UNAVAILABLE");
    };
  }
}
