// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.vectors.Outcome;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Consumer;

/** Collects what a group finds. Used by the thread that runs the group. */
final class Findings {
  private final String group;
  private final Consumer<Finding> target;

  Findings(String group, Consumer<Finding> target) {
    this.group = group;
    this.target = target;
  }

  void add(String name, Outcome outcome) {
    target.accept(new Finding(group, name, outcome));
  }

  /** A check that passed, or the fault that it found. */
  void add(String name, Optional<String> fault) {
    add(name, fault.<Outcome>map(Outcome.Failed::new).orElse(Outcome.PASSED));
  }

  /** A check of a single condition. */
  void check(String name, boolean holds, String otherwise) {
    add(name, holds ? Outcome.PASSED : new Outcome.Failed(otherwise));
  }

  void skip(String name, String reason) {
    add(name, new Outcome.Skipped(reason));
  }

  /** A check that may go wrong in any way: what it throws is a fault of the device. */
  void attempt(String name, Check check) throws InterruptedException {
    tryOut(name, () -> check.run().<Outcome>map(Outcome.Failed::new).orElse(Outcome.PASSED));
  }

  /** The same for a check that may be skipped. */
  void tryOut(String name, Callable<Outcome> check) throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    try {
      add(name, check.call());
    } catch (InterruptedException e) {
      throw e;
    } catch (Exception | Error e) {
      add(name, Outcome.Failed.of(e));
    }
  }

  /** Finds a fault, or none. */
  @FunctionalInterface
  interface Check {
    Optional<String> run() throws Exception;
  }
}
