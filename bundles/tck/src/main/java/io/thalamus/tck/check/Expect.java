// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.check;

import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.model.ErrorStatus;
import io.thalamus.vectors.Outcome;
import java.util.Arrays;
import java.util.List;

/** Expectations: each returns where it is met, else it ends the check with its message. */
public final class Expect {
  private Expect() {}

  /** Returns the statuses of a call that missed its deadline. */
  public static ErrorStatus[] missed() {
    return new ErrorStatus[] {
      ErrorStatus.MISSED_DEADLINE_TRANSIENT, ErrorStatus.MISSED_DEADLINE_PERSISTENT
    };
  }

  /** Returns what ends a check as failed. */
  public static OutcomeException failure(String message) {
    return new OutcomeException(message, new Outcome.Failed(message));
  }

  /** Returns what ends a check that does not apply to the device. */
  public static OutcomeException skip(String reason) {
    return new OutcomeException(reason, new Outcome.Skipped(reason));
  }

  /** Expects a condition. */
  public static void that(boolean holds, String otherwise) {
    if (!holds) {
      throw failure(otherwise);
    }
  }

  /** Expects equal bytes. */
  public static void equal(byte[] expected, byte[] actual, String otherwise) {
    that(Arrays.equals(expected, actual), otherwise);
  }

  /** Expects an execution that is done. */
  public static void completed(String what, ExecutionResult result) {
    that(result instanceof ExecutionResult.Completed, what + " ended with " + result);
  }

  /** Expects an execution that fails with one of these statuses. */
  public static void failed(ExecutionResult result, ErrorStatus... wanted) {
    that(
        result instanceof ExecutionResult.Failed && isOneOf(result.status(), wanted),
        "it ended with " + result + ", not with " + List.of(wanted));
  }

  /** Expects one of these statuses. */
  public static void status(String what, ErrorStatus actual, ErrorStatus... wanted) {
    that(isOneOf(actual, wanted), what + " ended with " + actual + ", not with " + List.of(wanted));
  }

  private static boolean isOneOf(ErrorStatus actual, ErrorStatus... wanted) {
    return List.of(wanted).contains(actual);
  }

  /** Expects that a call is refused with one of these statuses. */
  public static void refused(String what, Check.Body call, ErrorStatus... wanted) throws Exception {
    try {
      call.run();
    } catch (DeviceException e) {
      that(
          isOneOf(e.status(), wanted),
          what + " was refused with " + e.status() + ", not with " + List.of(wanted));
      return;
    }
    throw failure(what + " was not refused");
  }

  /** Runs a part of a check; its messages begin with the place. */
  public static void at(String place, Check.Body part) throws Exception {
    try {
      part.run();
    } catch (OutcomeException e) {
      throw e.outcome() instanceof Outcome.Failed ? failure(place + ": " + e.getMessage()) : e;
    }
  }
}
