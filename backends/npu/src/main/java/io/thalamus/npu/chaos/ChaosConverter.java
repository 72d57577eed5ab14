// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.chaos;

import org.apache.felix.service.command.CommandProcessor;
import org.apache.felix.service.command.Converter;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** Lets Gogo print what {@code nn:chaos} answers, and pipe it. Stateless. */
@Component(
    service = Converter.class,
    property = Converter.CONVERTER_CLASSES + "=io.thalamus.npu.chaos.ChaosResult")
public final class ChaosConverter implements Converter {
  /**
   * Called by the component runtime.
   *
   * @param gogo is here, and so are its classes
   */
  @Activate
  public ChaosConverter(@Reference CommandProcessor gogo) {}

  @Override
  public Object convert(Class<?> desiredType, Object in) {
    return in instanceof ChaosResult && desiredType == String.class ? in.toString() : null;
  }

  @Override
  public CharSequence format(Object target, int level, Converter escape) {
    return target instanceof ChaosResult ? target.toString() : null;
  }
}
