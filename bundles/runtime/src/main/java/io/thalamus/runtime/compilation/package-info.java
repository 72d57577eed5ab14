// SPDX-License-Identifier: Apache-2.0
/** Prepares plans on devices and keeps them current while devices come and go. */
package io.thalamus.runtime.compilation;
