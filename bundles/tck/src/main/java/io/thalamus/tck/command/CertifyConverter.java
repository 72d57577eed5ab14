// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.command;

import org.apache.felix.service.command.Converter;
import org.osgi.service.component.annotations.Component;

/** Lets Gogo print the result, and pipe it. Stateless. */
@Component(
    service = Converter.class,
    property = Converter.CONVERTER_CLASSES + "=io.thalamus.tck.command.CertifyResult")
public final class CertifyConverter implements Converter {
  @Override
  public Object convert(Class<?> desiredType, Object in) {
    return in instanceof CertifyResult result && desiredType == String.class ? result.show() : null;
  }

  @Override
  public CharSequence format(Object target, int level, Converter escape) {
    return target instanceof CertifyResult result ? result.show() : null;
  }
}
