// SPDX-License-Identifier: Apache-2.0
package io.thalamus.chaos;

import io.thalamus.model.ErrorStatus;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;

/** One fault of a device. Immutable; {@code toString()} is its form in a script. */
public sealed interface Fault {
  /** Returns the kind that it is counted as. */
  default Kind kind() {
    return switch (this) {
      case Latency _ -> Kind.LATENCY;
      case Hang _ -> Kind.HANG;
      case Crash _ -> Kind.CRASH;
      case Wrong _ -> Kind.WRONG;
      case Exhaust _ -> Kind.EXHAUST;
      case Lose _ -> Kind.LOSE;
    };
  }

  /** The kinds. */
  enum Kind {
    LATENCY,
    HANG,
    CRASH,
    WRONG,
    EXHAUST,
    LOSE
  }

  /**
   * The execution takes longer, and asks its control meanwhile.
   *
   * @param time added
   */
  record Latency(Duration time) implements Fault {
    public Latency {
      Durations.requirePositive(time);
    }

    @Override
    public String toString() {
      return "latency " + Durations.text(time);
    }
  }

  /**
   * The device stops answering: this call and all that follow stand still, without a checkpoint,
   * until the device is reset or leaves.
   *
   * @param time after which it wakes up by itself and goes on
   */
  record Hang(Optional<Duration> time) implements Fault {
    public Hang {
      time.ifPresent(Durations::requirePositive);
    }

    @Override
    public String toString() {
      return "hang" + time.map(value -> " for " + Durations.text(value)).orElse("");
    }
  }

  /**
   * The execution fails.
   *
   * @param status GENERAL_FAILURE or DEVICE_UNAVAILABLE
   */
  record Crash(ErrorStatus status) implements Fault {
    public Crash {
      if (status != ErrorStatus.GENERAL_FAILURE && status != ErrorStatus.DEVICE_UNAVAILABLE) {
        throw new IllegalArgumentException(
            "a crash ends with GENERAL_FAILURE or DEVICE_UNAVAILABLE, not with " + status);
      }
    }

    @Override
    public String toString() {
      return "crash " + status;
    }
  }

  /**
   * The execution succeeds, with outputs that are not right.
   *
   * @param bits how many are flipped, at places that follow from the seed
   */
  record Wrong(int bits) implements Fault {
    public Wrong {
      if (bits < 1) {
        throw new IllegalArgumentException(
            "to flip " + bits + " bits is no fault: give at least 1");
      }
    }

    @Override
    public String toString() {
      return "wrong " + bits;
    }
  }

  /**
   * The device has no room.
   *
   * @param calls that are refused with RESOURCE_EXHAUSTED_TRANSIENT; without it all are refused
   *     with RESOURCE_EXHAUSTED_PERSISTENT until the device is reset or leaves
   */
  record Exhaust(OptionalInt calls) implements Fault {
    public Exhaust {
      if (calls.isPresent() && calls.getAsInt() < 1) {
        throw new IllegalArgumentException(
            "to refuse " + calls.getAsInt() + " calls is no fault: give at least 1");
      }
    }

    @Override
    public String toString() {
      return "exhaust" + (calls.isPresent() ? " " + calls.getAsInt() : "");
    }
  }

  /**
   * The device goes away and comes back.
   *
   * @param time of its absence
   */
  record Lose(Duration time) implements Fault {
    public Lose {
      Objects.requireNonNull(time, "time");
      Durations.requirePositive(time);
    }

    @Override
    public String toString() {
      return "lose for " + Durations.text(time);
    }
  }
}
