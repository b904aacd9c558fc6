//! How sites say "not found", in ten languages. Only ever the last straw: see the Peugeot 404.

/// Phrases in lower case.
const PHRASES: [&str; 46] = [
    // English
    "not found",
    "page cannot be found",
    "no longer available",
    "does not exist",
    "doesn't exist",
    "404 error",
    "error 404",
    "page missing",
    "no longer exists",
    // German
    "nicht gefunden",
    "existiert nicht",
    "nicht mehr verfügbar",
    "fehler 404",
    // French
    "introuvable",
    "n'existe pas",
    "non trouvée",
    "erreur 404",
    "n’existe pas",
    // Spanish
    "no encontrada",
    "no se encuentra",
    "no existe",
    "no se ha encontrado",
    "error 404 ",
    // Italian
    "non trovata",
    "non esiste",
    "errore 404",
    // Portuguese
    "não encontrada",
    "não existe",
    "erro 404",
    "nao encontrada",
    // Dutch
    "niet gevonden",
    "bestaat niet",
    "fout 404",
    // Polish
    "nie znaleziono",
    "nie istnieje",
    "błąd 404",
    // Russian
    "не найдена",
    "не существует",
    "ошибка 404",
    // Japanese
    "見つかりません",
    "存在しません",
    "見つかりませんでした",
    // Chinese
    "找不到",
    "未找到",
    "不存在",
    "找不到页面",
];

/// Whether a title says that there is no such page. `404` alone does not.
pub fn says_not_found(title: &str) -> bool {
    let title = title.to_lowercase();
    PHRASES.iter().any(|phrase| title.contains(phrase))
}
