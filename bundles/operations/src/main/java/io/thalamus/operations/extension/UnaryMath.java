// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations.extension;

import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.ArgumentType.T;

import io.thalamus.operations.ElementwiseDefinition;
import io.thalamus.operations.OperationDefinition;
import io.thalamus.operations.Signature;
import io.thalamus.operations.TypeLevels;
import java.util.List;

/** Functions of single numbers: ERF. They have no parameters. */
final class UnaryMath {
  private UnaryMath() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        ElementwiseDefinition.of(
            ThalamusExtension.ERF,
            Signature.since(V1_2)
                .inputs(data("input", TypeLevels.floats(V1_2)))
                .outputs(argument("output", T).shapedAs("input"))));
  }
}
