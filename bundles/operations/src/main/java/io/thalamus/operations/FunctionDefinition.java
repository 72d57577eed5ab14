// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.OperationType;
import io.thalamus.model.Shape;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.Function;

/**
 * The definition of an operation by functions that keep nothing, so that it needs no class of its
 * own, which each start would load. Immutable.
 */
public final class FunctionDefinition extends NamedDefinition {
  private final Step<List<Shape>> shapes;
  private final Step<? extends OperationParameters> parameters;
  private final List<Rules> rules;

  /** The inputs by whose shapes the outputs' are inferred as part of a check; empty for never. */
  private final int[] inferredFrom;

  /** Null for an operation that multiplies nothing. */
  private final Function<OperationView, OptionalLong> macs;

  private final boolean isMeasured;

  /**
   * What {@link OperationDefinition#infer} or {@link OperationDefinition#resolve} does.
   *
   * @param <T> what it gives
   */
  @FunctionalInterface
  public interface Step<T> {
    /** Returns what it gives for an operation. */
    T of(OperationView operation) throws ValidationException;
  }

  /** What {@link OperationDefinition#check} does. */
  @FunctionalInterface
  public interface Rules {
    /** Checks an operation whose signature holds. */
    void check(OperationView operation, Check check) throws ValidationException;
  }

  /** The definition of an operation without parameters. */
  public FunctionDefinition(
      OperationType type, Signature signature, Step<List<Shape>> shapes, Trait... traits) {
    this(type, signature, shapes, null, traits);
  }

  /**
   * The definition of an operation without other rules than those of its signature.
   *
   * @param parameters null for none
   */
  public FunctionDefinition(
      OperationType type,
      Signature signature,
      Step<List<Shape>> shapes,
      Step<? extends OperationParameters> parameters,
      Trait... traits) {
    super(type, signature, traits);
    this.shapes = shapes;
    this.parameters = parameters;
    rules = List.of();
    inferredFrom = new int[0];
    macs = null;
    isMeasured = false;
  }

  private FunctionDefinition(
      FunctionDefinition other,
      List<Rules> rules,
      int[] inferredFrom,
      Function<OperationView, OptionalLong> macs,
      boolean isMeasured) {
    super(other.type(), other.signature(), other.traits().toArray(Trait[]::new));
    shapes = other.shapes;
    parameters = other.parameters;
    this.rules = rules;
    this.inferredFrom = inferredFrom;
    this.macs = macs;
    this.isMeasured = isMeasured;
  }

  /** Returns the same definition with rules behind those that it has. */
  public FunctionDefinition checkedBy(Rules more) {
    List<Rules> all = new ArrayList<>(rules);
    all.add(more);
    return new FunctionDefinition(this, List.copyOf(all), inferredFrom, macs, isMeasured);
  }

  /** Returns the same definition, whose check infers where the shapes of these inputs are known. */
  public FunctionDefinition inferredOnceKnown(int... inputs) {
    return new FunctionDefinition(this, rules, inputs.clone(), macs, isMeasured);
  }

  /** Returns the same definition with what {@link OperationDefinition#macs} does. */
  public FunctionDefinition countedBy(Function<OperationView, OptionalLong> count) {
    return new FunctionDefinition(this, rules, inferredFrom, count, isMeasured);
  }

  /** Returns the same definition of an operation whose shapes are measured. */
  public FunctionDefinition measured() {
    return new FunctionDefinition(this, rules, inferredFrom, macs, true);
  }

  @Override
  public OptionalLong macs(OperationView operation) {
    return macs == null ? super.macs(operation) : macs.apply(operation);
  }

  @Override
  public void check(OperationView operation, Check check) throws ValidationException {
    for (Rules each : rules) {
      each.check(operation, check);
    }
    if (inferredFrom.length > 0 && areShapesKnown(operation, inferredFrom)) {
      infer(operation);
    }
  }

  @Override
  public boolean areShapesMeasured() {
    return isMeasured;
  }

  @Override
  public List<Shape> infer(OperationView operation) throws ValidationException {
    return shapes.of(operation);
  }

  @Override
  public OperationParameters resolve(OperationView operation) throws ValidationException {
    return parameters == null ? super.resolve(operation) : parameters.of(operation);
  }
}
