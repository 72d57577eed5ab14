// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.Quantization;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Consumer;

/**
 * One input or output of a {@link Signature}, or several in a row. Immutable: each method that adds
 * a rule returns another argument.
 */
public final class Argument {
  private final String name;
  private final ArgumentType type;
  // Set while the argument is made, and never after.
  private Optional<TypeLevels> data = Optional.empty();
  private int leastRank;
  private int mostRank = Integer.MAX_VALUE;
  private Optional<FeatureLevel> since = Optional.empty();
  private boolean isOmittable;
  private Optional<Boolean> isValueNeeded = Optional.empty();
  private OptionalInt defaultValue = OptionalInt.empty();
  private boolean isFusedActivation;
  private OptionalInt leastRepetitions = OptionalInt.empty();
  private String tooFew = "";
  private Optional<String> quantizedAs = Optional.empty();
  private Optional<Quantization> quantization = Optional.empty();
  private Optional<String> shapedAs = Optional.empty();

  private Argument(String name, ArgumentType type) {
    this.name = name;
    this.type = type;
  }

  /** Returns the argument that is the operation's data: its type is T. */
  public static Argument data(String name, TypeLevels types) {
    return argument(name, ArgumentType.T).with(made -> made.data = Optional.of(types));
  }

  /** Returns an argument whose type may depend on T. */
  public static Argument argument(String name, ArgumentType type) {
    return new Argument(name, type);
  }

  /** Returns an argument of one of these types. */
  public static Argument argument(String name, OperandType... types) {
    return argument(name, ArgumentType.of(types));
  }

  /** Returns the INT32 that is the code of a {@link FusedActivation}. */
  public static Argument fusedActivation() {
    return argument("activation", OperandCode.INT32).with(made -> made.isFusedActivation = true);
  }

  private Argument with(Consumer<Argument> rule) {
    Argument made = new Argument(name, type);
    made.data = data;
    made.leastRank = leastRank;
    made.mostRank = mostRank;
    made.since = since;
    made.isOmittable = isOmittable;
    made.isValueNeeded = isValueNeeded;
    made.defaultValue = defaultValue;
    made.isFusedActivation = isFusedActivation;
    made.leastRepetitions = leastRepetitions;
    made.tooFew = tooFew;
    made.quantizedAs = quantizedAs;
    made.quantization = quantization;
    made.shapedAs = shapedAs;
    rule.accept(made);
    return made;
  }

  /** Demands a tensor of this rank. */
  public Argument rank(int rank) {
    return rank(rank, rank);
  }

  /** Demands a tensor of a rank within these bounds. */
  public Argument rank(int least, int most) {
    return with(
        made -> {
          made.leastRank = least;
          made.mostRank = most;
        });
  }

  /** Lets the arguments end before this one; with it, the operation needs this feature level. */
  public Argument from(FeatureLevel level) {
    return with(made -> made.since = Optional.of(level));
  }

  /** Allows an operand without a value in this place. */
  public Argument omittable() {
    return with(made -> made.isOmittable = true);
  }

  /** Makes shapes and parameters depend on the value or not; else on that of scalars alone. */
  public Argument needsValue(boolean isNeeded) {
    return with(made -> made.isValueNeeded = Optional.of(isNeeded));
  }

  /** Gives the INT32 that means the same as ending the arguments before this one. */
  public Argument orElse(int value) {
    return with(made -> made.defaultValue = OptionalInt.of(value));
  }

  /** Repeats the argument at least so often; {@code otherwise} is the message for fewer. */
  public Argument repeated(int least, String otherwise) {
    return with(
        made -> {
          made.leastRepetitions = OptionalInt.of(least);
          made.tooFew = otherwise;
        });
  }

  /** Demands the quantization of the input of this name, or of each that it is repeated as. */
  public Argument quantizedAs(String input) {
    return with(made -> made.quantizedAs = Optional.of(input));
  }

  /**
   * Demands a quantization where T is quantized: this one for TENSOR_QUANT8_ASYMM; for
   * TENSOR_QUANT8_ASYMM_SIGNED the zero point is lower by 128.
   */
  public Argument quantized(Quantization unsigned) {
    return with(made -> made.quantization = Optional.of(unsigned));
  }

  /** Demands the shape of the input of this name. */
  public Argument shapedAs(String input) {
    return with(made -> made.shapedAs = Optional.of(input));
  }

  /** Returns the name, unique among the inputs or the outputs. */
  public String name() {
    return name;
  }

  /** Returns the types that it may have. */
  public ArgumentType type() {
    return type;
  }

  /** Returns the types of the operation's data where this argument is the data. */
  public Optional<TypeLevels> data() {
    return data;
  }

  /** Returns the least rank of a tensor. */
  public int leastRank() {
    return leastRank;
  }

  /** Returns the largest rank of a tensor; {@link Integer#MAX_VALUE} where there is none. */
  public int mostRank() {
    return mostRank;
  }

  /** Returns the feature level that brought it where the arguments may end before it. */
  public Optional<FeatureLevel> since() {
    return since;
  }

  /** Returns whether an operand without a value may stand in its place. */
  public boolean isOmittable() {
    return isOmittable;
  }

  /** Returns whether shapes and parameters depend on its value, an operand being at hand. */
  public boolean needsValue(OperandView operand) {
    return isValueNeeded.orElse(!operand.type().isTensor());
  }

  /** Returns the INT32 that means the same as ending the arguments before it. */
  public OptionalInt defaultValue() {
    return defaultValue;
  }

  /** Returns whether it is the code of a {@link FusedActivation}. */
  public boolean isFusedActivation() {
    return isFusedActivation;
  }

  /** Returns how often it is repeated at least, where it may be repeated. */
  public OptionalInt leastRepetitions() {
    return leastRepetitions;
  }

  /** Returns the message for too few repetitions. */
  String tooFew() {
    return tooFew;
  }

  /** Returns the name of the input whose quantization it has. */
  public Optional<String> quantizedAs() {
    return quantizedAs;
  }

  /** Returns the quantization that it has where T is this type. */
  public Optional<Quantization> quantization(OperandCode data) {
    int lower = data == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED ? 128 : 0;
    return quantization
        .filter(_ -> ArgumentType.QUANTIZED.contains(data))
        .map(unsigned -> Quantization.of(unsigned.scale(), unsigned.zeroPoint() - lower));
  }

  /** Returns the name of the input whose shape it has. */
  public Optional<String> shapedAs() {
    return shapedAs;
  }
}
