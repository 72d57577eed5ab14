// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.ExtensionOperandType;
import java.util.List;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Operations and operand types that NNAPI does not know, under one name, as NN HAL 1.2 has them. A
 * bundle brings one as an OSGi service; the runtime then checks models that use it. It is executed
 * by devices that name it among their {@code extensions}, usually from the same bundle; without its
 * service, models that use it are left to those devices unchecked. Immutable and thread-safe.
 */
@ConsumerType
public interface OperationExtension {
  /** The reverse domain name of the extension, for example {@code com.example.signal}. */
  String name();

  /** One definition for each operation, whose types belong to this extension. */
  List<OperationDefinition> definitions();

  /** The operand types that the extension adds. */
  default List<ExtensionOperandType> operandTypes() {
    return List.of();
  }
}
