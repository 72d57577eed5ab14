// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import java.util.Arrays;
import java.util.Objects;
import java.util.Optional;

/**
 * An operand as it stands in a file: it may hold what no model can, such as a number that is no
 * type, or a wrong count of consumers. Immutable; tests change one field at a time with the {@code
 * with} methods.
 *
 * @param name for people; may be empty
 * @param type the name of an operand type, or a number in decimal
 * @param dims the dimensions
 * @param scale 0 for none
 * @param zeroPoint 0 for none
 * @param channelQuant scales for each channel, where there are any
 * @param lifetime the name of a lifetime, or its number in decimal
 * @param consumers how many operation inputs are said to use it
 * @param values of a constant; for a subgraph its index among the referenced ones
 */
public record RawOperand(
    String name,
    String type,
    Dims dims,
    double scale,
    int zeroPoint,
    Optional<ChannelQuant> channelQuant,
    String lifetime,
    int consumers,
    Optional<Values> values) {
  public RawOperand {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(dims, "dims");
    Objects.requireNonNull(channelQuant, "channelQuant");
    Objects.requireNonNull(lifetime, "lifetime");
    Objects.requireNonNull(values, "values");
  }

  /** An operand without quantization and values. */
  public static RawOperand of(String name, String type, Dims dims, String lifetime, int consumers) {
    return new RawOperand(
        name, type, dims, 0, 0, Optional.empty(), lifetime, consumers, Optional.empty());
  }

  public RawOperand withName(String value) {
    return new RawOperand(
        value, type, dims, scale, zeroPoint, channelQuant, lifetime, consumers, values);
  }

  public RawOperand withType(String value) {
    return new RawOperand(
        name, value, dims, scale, zeroPoint, channelQuant, lifetime, consumers, values);
  }

  /** The same operand with the type of this number, which need not exist. */
  public RawOperand withType(int value) {
    return withType(Integer.toString(value));
  }

  public RawOperand withDims(int... value) {
    return new RawOperand(
        name, type, Dims.of(value), scale, zeroPoint, channelQuant, lifetime, consumers, values);
  }

  public RawOperand withScale(double value) {
    return new RawOperand(
        name, type, dims, value, zeroPoint, channelQuant, lifetime, consumers, values);
  }

  public RawOperand withZeroPoint(int value) {
    return new RawOperand(
        name, type, dims, scale, value, channelQuant, lifetime, consumers, values);
  }

  public RawOperand withChannelQuant(Optional<ChannelQuant> value) {
    return new RawOperand(name, type, dims, scale, zeroPoint, value, lifetime, consumers, values);
  }

  public RawOperand withLifetime(String value) {
    return new RawOperand(
        name, type, dims, scale, zeroPoint, channelQuant, value, consumers, values);
  }

  public RawOperand withConsumers(int value) {
    return new RawOperand(
        name, type, dims, scale, zeroPoint, channelQuant, lifetime, value, values);
  }

  public RawOperand withValues(Optional<Values> value) {
    return new RawOperand(
        name, type, dims, scale, zeroPoint, channelQuant, lifetime, consumers, value);
  }

  /** Dimensions as read; negative ones included. Immutable. */
  public static final class Dims {
    /** No dimensions. */
    public static final Dims NONE = new Dims(new int[0]);

    private final int[] sizes;

    private Dims(int[] sizes) {
      this.sizes = sizes;
    }

    /** These dimensions, outermost first. */
    public static Dims of(int... sizes) {
      return sizes.length == 0 ? NONE : new Dims(sizes.clone());
    }

    public int rank() {
      return sizes.length;
    }

    /** A copy of the dimensions. */
    public int[] toArray() {
      return sizes.clone();
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Dims that && Arrays.equals(sizes, that.sizes);
    }

    @Override
    public int hashCode() {
      return Arrays.hashCode(sizes);
    }

    @Override
    public String toString() {
      return Arrays.toString(sizes);
    }
  }

  /** One scale for each index along {@code channelDim}. */
  public record ChannelQuant(int channelDim, Values scales) {
    public ChannelQuant {
      Objects.requireNonNull(scales, "scales");
    }
  }
}
