// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.events;

import io.thalamus.model.Priority;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The words by which events name a compilation, or an execution of it that has a client or priority
 * of its own. Immutable.
 *
 * @param application the symbolic name of the bundle that asked
 * @param client of the application, as it names it; empty for itself
 * @param model the file of the model, or the operations of one that was built
 * @param priority among the models of the application
 * @param id tells compilations of the same model apart: a number, unique in the process
 */
public record CompilationLabel(
    String application, String client, String model, Priority priority, long id) {
  /** Plans, forecasts and measurements, which belong to no compilation of an application. */
  public static final CompilationLabel PLANNING =
      new CompilationLabel("", "", "", Priority.MEDIUM, 0);

  private static final AtomicLong LAST = new AtomicLong();

  public CompilationLabel {
    Objects.requireNonNull(application, "application");
    Objects.requireNonNull(client, "client");
    Objects.requireNonNull(model, "model");
    Objects.requireNonNull(priority, "priority");
  }

  /** Creates a label with a new number. */
  public CompilationLabel(String application, String client, String model, Priority priority) {
    this(application, client, model, priority, LAST.incrementAndGet());
  }

  /** Returns the label of executions of the compilation for another client or priority. */
  public CompilationLabel with(String otherClient, Priority otherPriority) {
    return otherPriority == priority && otherClient.equals(client)
        ? this
        : new CompilationLabel(application, otherClient, model, otherPriority, id);
  }
}
