// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving;

import io.thalamus.model.Quantization;
import java.util.List;
import java.util.Objects;

/**
 * An input or output of a model. Immutable.
 *
 * @param name unique among the inputs, or among the outputs, of the model
 * @param shape the dimensions, outermost first; -1 for an open one
 * @param quantization the relation between stored integers and real numbers
 */
public record TensorMetadata(
    String name, Datatype datatype, List<Long> shape, Quantization quantization) {
  public TensorMetadata {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(datatype, "datatype");
    Objects.requireNonNull(quantization, "quantization");
    shape = List.copyOf(shape);
  }
}
